// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// scatter and put_along_axis of host arrays in chunks on the fake GPU: bits, memory, progress.

#include "fake_gpu.hpp"
#include "gpukern/explain.h"
#include "reports.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

TEST(ScatterChunksTest, AnyCallHasTheBitsOfTheWhole) {
  Random random(std::random_device{}());
  fake_gpu().take_ranges();
  for (int round = 0; round < rounds(600); ++round) {
    const bool along_axis = random() % 2 == 0;
    Shape target(static_cast<std::size_t>(between(random, 1, 3)));
    for (auto& size : target) size = between(random, 1, pick(random, {3, 20, 40}));
    auto axis = static_cast<std::int32_t>(random() % target.size());
    Shape index{between(random, 1, 400)};
    if (along_axis) {
      index = target;
      index[static_cast<std::size_t>(axis)] = between(random, 1, 30);
      for (std::size_t d = 0; d < target.size(); ++d)
        if (static_cast<std::int32_t>(d) != axis && random() % 3 == 0)
          (random() % 2 == 0 ? target : index)[d] = 1;
    }
    if (random() % 8 == 0) {
      axis = GPUKERN_AXIS_NONE;
      index = {between(random, 1, 400)};
    }
    const gpukern_reduce reduce = kReductions[random() % std::size(kReductions)];
    gpukern_dtype dtype = kReducedDtypes[random() % std::size(kReducedDtypes)];
    if (!has_reduction(dtype, reduce)) dtype = kFloat32;
    const auto layout = [&](const auto& layouts) { return layouts[random() % std::size(layouts)]; };
    Array to(Placement::CudaHost, dtype, target, layout(kOutputLayouts));
    Array out(Placement::CudaHost, dtype, target, layout(kOutputLayouts));
    Array at(Placement::CudaHost, kIndexTypes[random() % std::size(kIndexTypes)].dtype, index,
             layout(kInputLayouts));
    const Shape updates = update_shape(along_axis, target, index, axis);
    Array from(Placement::CudaHost, dtype, random() % 4 == 0 ? Shape{} : updates,
               layout(kInputLayouts));
    for (View* view : {static_cast<View*>(&to), static_cast<View*>(&from)})
      fill_numbers(*view, random, true);
    const gpukern_index_mode mode = kModes[random() % std::size(kModes)];
    const std::int64_t size = split_at(target, axis).size;
    fill_indices(at, random, size, mode == GPUKERN_INDEX_RAISE && random() % 8 > 0 ? 0 : size);
    const auto limit = pick<std::int64_t>(random, {1, 700, 1500, 20000});
    const EnvironmentVariable memory("GPUKERN_DEVICE_MEMORY", std::to_string(limit));
    fake_gpu().take_peak_bytes();
    expect_scatter({along_axis, to, at, from, axis, scatter_options(mode, reduce),
                    random() % 3 == 0 ? &out : nullptr},
                   Placement::CudaHost);
    EXPECT_LE(fake_gpu().take_peak_bytes(),
              static_cast<std::size_t>(std::max(limit, std::int64_t{4096})));
    EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
  }
  EXPECT_GT(fake_gpu().take_ranges()["scatter: chunk"], rounds(600));
}

/// Rows of numbers that are added to a target.
class ScatterInChunksTest : public testing::Test {
 protected:
  ScatterInChunksTest() : ScatterInChunksTest({2000, 5}, 3000) {}
  ScatterInChunksTest(const Shape& shape, std::int64_t count)
      : target_(Placement::CudaHost, kFloat32, shape),
        index_(Placement::CudaHost, kInt64.dtype, {count}),
        values_(Placement::CudaHost, kFloat32, {count, shape[1]}) {
    fill_numbers(target_, random_, true);
    fill_numbers(values_, random_, true);
    fill_indices(index_, random_, shape[0]);
    exec_.device = kCuda;
    exec_.device_memory_limit = kLimit;
  }

  gpukern_status run() { return call_.run(exec_); }

  static constexpr std::size_t kLimit = 20000;
  Random random_{20260601};
  Array target_;
  Array index_;
  Array values_;
  Scatter call_{false,   target_, index_,
                values_, 0,       scatter_options(GPUKERN_INDEX_RAISE, GPUKERN_REDUCE_ADD)};
  gpukern_exec exec_ = GPUKERN_EXEC_INIT;
};

TEST_F(ScatterInChunksTest, RunsOnTheGpuInsideItsLimit) {
  const Expected expected = scatter_oracle(call_);
  const std::size_t before = fake_gpu().launches();
  fake_gpu().take_peak_bytes();
  fake_gpu().take_ranges();
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(same_bytes(expected.out, target_.storage.host));
  EXPECT_LE(fake_gpu().take_peak_bytes(), kLimit);
  const int chunks = fake_gpu().take_ranges()["scatter: chunk"];
  EXPECT_GT(chunks, 10);
  EXPECT_EQ(fake_gpu().launches(), before + static_cast<std::size_t>(chunks));
}

TEST_F(ScatterInChunksTest, ScratchMemoryIsPartOfTheLimit) {
  constexpr std::size_t kOperands = 2000UL * 20 + 3000UL * (8 + 20);
  constexpr std::size_t kScratch = 3000UL * 704;
  for (const auto& [limit, fits] :
       {std::pair(kOperands + kScratch - 1, false), std::pair(kOperands + 2 * kScratch, true)}) {
    exec_.device_memory_limit = limit;
    fake_gpu().take_ranges();
    ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(fake_gpu().take_ranges()["scatter: chunk"] == 0, fits);
  }
}

TEST_F(ScatterInChunksTest, IsExplained) {
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  exec_.explanation = &explanation;
  const Bytes before = target_.storage.host;
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(explanation.rule, GPUKERN_RULE_ARGUMENT);
  EXPECT_GT(explanation.chunks, 10);
  EXPECT_GT(explanation.threads, 0);
  EXPECT_LE(explanation.bytes_allocated, static_cast<std::int64_t>(kLimit));
  EXPECT_EQ(explanation.bytes_to_device, 2000 * 20 + 3000 * (8 + 20));
  EXPECT_EQ(explanation.bytes_from_device, 2000 * 20);
  EXPECT_TRUE(same_bytes(before, target_.storage.host));
}

TEST_F(ScatterInChunksTest, ReportsItsProgress) {
  for (const std::size_t limit : {kLimit, std::size_t{1} << 20, std::size_t{1}}) {
    Reports reports;
    exec_.device_memory_limit = limit;
    reports.listen_to(exec_);
    ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(reports.total, 40000U);
    reports.expect_whole();
    EXPECT_EQ(reports.done.size() > 10, limit == kLimit || limit == 1);
  }
}

TEST_F(ScatterInChunksTest, StopsBetweenChunks) {
  Reports reports;
  reports.stops_after = 3;
  reports.listen_to(exec_);
  const std::size_t before = fake_gpu().launches();
  expect_error(run(), GPUKERN_CANCELLED, "scatter: stopped by the progress callback at ");
  EXPECT_LE(fake_gpu().launches(), before + 6);
  EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
}

TEST_F(ScatterInChunksTest, ABadIndexChangesNothing) {
  store_index(index_.storage.host, index_.offsets().back(), kInt64.dtype, 2000);
  const Bytes before = target_.storage.host;
  expect_error(run(), GPUKERN_INDEX_ERROR, "index 2000 is out of bounds for axis 0 with size 2000");
  EXPECT_TRUE(same_bytes(before, target_.storage.host));
}

TEST_F(ScatterInChunksTest, ReleasesItsMemoryWhenTheGpuFails) {
  fake_gpu().fail_copies_after(5);
  expect_error(run(), GPUKERN_CUDA_ERROR, "the fake GPU fails");
  EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
}

/// Rows that exceed a chunk, and elements with more values than one.
class ScatterLongRowsTest : public ScatterInChunksTest {
 protected:
  ScatterLongRowsTest() : ScatterInChunksTest({2, 4000}, 3) {}
};

TEST_F(ScatterLongRowsTest, AreDividedByColumns) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
    call_.options.reduce = reduce;
    const Expected expected = scatter_oracle(call_);
    const std::size_t before = fake_gpu().launches();
    ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_TRUE(same_bytes(expected.out, target_.storage.host));
    EXPECT_GT(fake_gpu().launches(), before + 4);
  }
}

class ScatterHotKeyTest : public ScatterInChunksTest {
 protected:
  ScatterHotKeyTest() : ScatterInChunksTest({100, 150}, 3000) {
    for (std::int64_t u = 0; u < 2500; ++u)
      store_index(index_.storage.host, index_.offsets()[static_cast<std::size_t>(u)], kInt64.dtype,
                  50);
  }
};

TEST_F(ScatterHotKeyTest, IsComputedOnTheHost) {
  const Expected expected = scatter_oracle(call_);
  const std::size_t before = fake_gpu().launches();
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(same_bytes(expected.out, target_.storage.host));
  EXPECT_GE(fake_gpu().launches(), before + 2);
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather_reduce and segment_reduce of host arrays in chunks on the fake GPU: bits, memory,
// progress.

#include "bag_oracle.hpp"
#include "fake_gpu.hpp"
#include "gpukern/explain.h"
#include "reports.hpp"

namespace gpukern_test {
namespace {

TEST(ReduceChunksTest, AnyCallHasTheBitsOfTheWhole) {
  Random random(std::random_device{}());
  fake_gpu().take_ranges();
  for (int round = 0; round < rounds(600); ++round) {
    const bool has_index = random() % 2 == 0;
    Shape shape(static_cast<std::size_t>(between(random, 1, 3)));
    for (auto& size : shape) size = between(random, 1, pick(random, {3, 20, 40}));
    const auto axis =
        random() % 8 == 0 ? GPUKERN_AXIS_NONE : static_cast<std::int32_t>(random() % shape.size());
    const std::int64_t size = split_at(shape, axis).size;
    const std::int64_t items = has_index ? between(random, 0, 1000) : size;
    const std::int64_t bags = between(random, 0, 40);
    const gpukern_reduce reduce = kBagReductions[random() % std::size(kBagReductions)];
    gpukern_dtype dtype = kReducedDtypes[random() % std::size(kReducedDtypes)];
    if (!has_reduction(dtype, reduce)) dtype = kFloat32;
    const auto layout = [&](const auto& layouts) { return layouts[random() % std::size(layouts)]; };
    Array source(Placement::CudaHost, dtype, shape, layout(kInputLayouts));
    Array index(Placement::CudaHost, kIndexTypes[random() % std::size(kIndexTypes)].dtype, {items},
                layout(kInputLayouts));
    Array weights(Placement::CudaHost, dtype, {items}, layout(kInputLayouts));
    Array offsets(Placement::CudaHost, kInt32.dtype, {bags + 1}, layout(kOutputLayouts));
    Array out(Placement::CudaHost, dtype, gather_shape(shape, {bags}, axis),
              layout(kOutputLayouts));
    fill_numbers(source, random, true);
    fill_numbers(weights, random, true);
    const gpukern_index_mode mode = has_index           ? kModes[random() % std::size(kModes)]
                                    : random() % 2 == 0 ? GPUKERN_INDEX_RAISE
                                                        : GPUKERN_INDEX_CLIP;
    fill_indices(index, random, size, mode == GPUKERN_INDEX_RAISE && random() % 8 > 0 ? 0 : size);
    // In modes other than raise, offsets may fall.
    Shape bounds(static_cast<std::size_t>(bags + 1));
    for (auto& bound : bounds) bound = between(random, 0, items);
    if (mode == GPUKERN_INDEX_RAISE || random() % 2 == 0) std::ranges::sort(bounds);
    const auto places = offsets.offsets();
    for (std::size_t b = 0; b < places.size(); ++b)
      store_index(offsets.storage.host, places[b], kInt32.dtype, bounds[b]);
    const auto limit = pick<std::int64_t>(random, {1, 1000, 2500, 20000});
    const EnvironmentVariable memory("GPUKERN_DEVICE_MEMORY", std::to_string(limit));
    fake_gpu().take_peak_bytes();
    expect_bags(
        {source, has_index ? &index : nullptr, offsets,
         has_index && reduce == GPUKERN_REDUCE_ADD && random() % 2 == 0 ? &weights : nullptr, axis,
         bag_options(mode, reduce), out},
        Placement::CudaHost);
    EXPECT_LE(fake_gpu().take_peak_bytes(),
              static_cast<std::size_t>(std::max(limit, std::int64_t{4096})));
    EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
  }
  EXPECT_GT(fake_gpu().take_ranges()["reduce: chunk"], rounds(600));
}

/// The number of chunks of one bag of long rows, whose blocks need scratch memory on a GPU.
int chunks_of_one_bag(std::int64_t items) {
  Random random(20260603);
  Array source(Placement::CudaHost, kFloat32, {2, 4000});
  Array index(Placement::CudaHost, kIndexTypes[0].dtype, {items});
  Array offsets(Placement::CudaHost, kInt64.dtype, {2});
  Array out(Placement::CudaHost, kFloat32, {1, 4000});
  fill_numbers(source, random, true);
  fill_indices(index, random, 2);
  store_offsets(offsets, {items});
  const BagCall call{source, &index, offsets, nullptr, 0, bag_options(GPUKERN_INDEX_RAISE), out};
  const Expected expected = bag_oracle(call);
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device = kCuda;
  exec.device_memory_limit = 40000;
  fake_gpu().take_ranges();
  EXPECT_EQ(call.run(exec), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(same_bytes(expected.out, out.storage.host));
  return fake_gpu().take_ranges()["reduce: chunk"];
}

TEST(ReduceChunksTest, ScratchMemoryIsPartOfTheLimit) {
  EXPECT_GT(chunks_of_one_bag(256), 0);
  EXPECT_EQ(chunks_of_one_bag(2000), 0);
}

constexpr std::int64_t kBags = 3000;
constexpr std::int64_t kItems = 10000;
constexpr std::int64_t kRow = 8;
constexpr std::size_t kLimit = 40000;

/// Bags of rows, or segments.
class ReduceInChunksTest : public testing::TestWithParam<bool> {
 protected:
  ReduceInChunksTest() {
    fill_numbers(source_, random_, true);
    fill_numbers(weights_, random_, true);
    fill_indices(index_, random_, GetParam() ? kItems : 500);
    std::vector<std::int64_t> lengths(kBags, 3);
    lengths[7] = 300;
    store_offsets(offsets_, lengths, 5);
    exec_.device = kCuda;
    exec_.device_memory_limit = kLimit;
  }

  gpukern_status run() { return call_.run(exec_); }

  Random random_{20260602};
  Array source_{Placement::CudaHost, kFloat32, {GetParam() ? kItems : 500, kRow}};
  Array index_{Placement::CudaHost, kInt64.dtype, {kItems}};
  Array offsets_{Placement::CudaHost, kInt64.dtype, {kBags + 1}};
  Array weights_{Placement::CudaHost, kFloat32, {kItems}};
  Array out_{Placement::CudaHost, kFloat32, {kBags, kRow}};
  BagCall call_{
      source_, GetParam() ? nullptr : &index_,   offsets_, GetParam() ? nullptr : &weights_,
      0,       bag_options(GPUKERN_INDEX_RAISE), out_};
  gpukern_exec exec_ = GPUKERN_EXEC_INIT;
};

TEST_P(ReduceInChunksTest, RunsOnTheGpuInsideItsLimit) {
  const Expected expected = bag_oracle(call_);
  const std::size_t before = fake_gpu().launches();
  fake_gpu().take_peak_bytes();
  fake_gpu().take_ranges();
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(same_bytes(expected.out, out_.storage.host));
  EXPECT_LE(fake_gpu().take_peak_bytes(), kLimit);
  const int chunks = fake_gpu().take_ranges()["reduce: chunk"];
  EXPECT_GT(chunks, 10);
  EXPECT_EQ(fake_gpu().launches(), before + static_cast<std::size_t>(chunks));
}

TEST_P(ReduceInChunksTest, IsExplained) {
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  exec_.explanation = &explanation;
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(explanation.rule, GPUKERN_RULE_ARGUMENT);
  EXPECT_GT(explanation.chunks, 10);
  EXPECT_GT(explanation.threads, 0);
  EXPECT_LE(explanation.bytes_allocated, static_cast<std::int64_t>(kLimit));
  EXPECT_GE(explanation.bytes_to_device, source_.count() * 4 + (kBags + 1) * 8);
  EXPECT_EQ(explanation.bytes_from_device, kBags * kRow * 4);
}

TEST_P(ReduceInChunksTest, ReportsItsProgressAndStops) {
  Reports reports;
  reports.listen_to(exec_);
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(reports.total, kBags * kRow * 4 + (GetParam() ? 0U : 500 * kRow * 4));
  EXPECT_GT(reports.done.size(), 10U);
  reports.expect_whole();
  reports = Reports();
  reports.stops_after = 4;
  const std::size_t before = fake_gpu().launches();
  EXPECT_EQ(run(), GPUKERN_CANCELLED);
  EXPECT_LE(fake_gpu().launches(), before + 7);
  EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
}

TEST_P(ReduceInChunksTest, ALongBagIsComputedOnTheHost) {
  store_offsets(offsets_, {2, kItems - 100, 3, 3});
  for (std::size_t b = 4; b <= kBags; ++b)
    store_index(offsets_.storage.host, offsets_.offsets()[b], kInt64.dtype, kItems - 92);
  const Expected expected = bag_oracle(call_);
  const std::size_t before = fake_gpu().launches();
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(same_bytes(expected.out, out_.storage.host));
  EXPECT_GT(fake_gpu().launches(), before);
}

TEST_P(ReduceInChunksTest, BadOffsetsChangeNothing) {
  store_index(offsets_.storage.host, offsets_.offsets().back(), kInt64.dtype, kItems + 1);
  const Bytes before = out_.storage.host;
  EXPECT_EQ(run(), GPUKERN_VALUE_ERROR);
  EXPECT_TRUE(same_bytes(before, out_.storage.host));
}

TEST_P(ReduceInChunksTest, ReleasesItsMemoryWhenTheGpuFails) {
  fake_gpu().fail_copies_after(6);
  expect_error(run(), GPUKERN_CUDA_ERROR, "the fake GPU fails");
  EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Operation, ReduceInChunksTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& parameter) {
                           return parameter.param ? "segments" : "bags";
                         });

}  // namespace
}  // namespace gpukern_test

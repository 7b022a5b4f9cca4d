// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// compress and nonzero of host arrays in chunks on the fake GPU: bits, memory, progress.

#include "fake_gpu.hpp"
#include "gpukern/explain.h"
#include "reports.hpp"
#include "select_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr gpukern_dtype kFloat32{GPUKERN_FLOAT, 32, 1};

class SelectChunksTest : public testing::Test {
 protected:
  SelectChunksTest() { fake_gpu().take_ranges(); }

  [[nodiscard]] Shape any_shape() {
    Shape shape(static_cast<std::size_t>(between(random_, 1, 4)));
    for (auto& size : shape) size = between(random_, 1, pick<std::int64_t>(random_, {2, 5, 40}));
    return shape;
  }
  [[nodiscard]] Layout input_layout() {
    return pick(random_, {Layout::Contiguous, Layout::Contiguous, Layout::Fortran, Layout::Strided,
                          Layout::Reversed, Layout::Unaligned, Layout::Broadcast});
  }
  [[nodiscard]] Layout output_layout() {
    return pick(random_, {Layout::Contiguous, Layout::Contiguous, Layout::Fortran, Layout::Strided,
                          Layout::Reversed, Layout::Unaligned});
  }
  /// Items that the output has room for.
  [[nodiscard]] std::int64_t any_size(const View& mask) {
    const std::int64_t size = std::ssize(positions_of(mask)) + pick(random_, {-2, 0, 0, 3});
    return std::max<std::int64_t>(size, 0);
  }
  /// Runs check() with little device memory, which the call keeps to.
  template <class Check>
  void with_little_memory(const Check& check) {
    const auto limit = pick<std::int64_t>(random_, {1, 3000, 10000, 50000});
    const EnvironmentVariable memory("GPUKERN_DEVICE_MEMORY", std::to_string(limit));
    fake_gpu().take_peak_bytes();
    check();
    EXPECT_LE(fake_gpu().take_peak_bytes(),
              static_cast<std::size_t>(std::max(limit, std::int64_t{8192})));
    EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
  }

  Random random_{std::random_device{}()};
};

TEST_F(SelectChunksTest, AnyCompressIsThatOfTheWhole) {
  for (int round = 0; round < rounds(600); ++round) {
    const Shape shape = any_shape();
    const gpukern_dtype dtype = bytes_dtype(pick(random_, {1, 2, 3, 4, 8, 16, 24}));
    const auto ndim = static_cast<std::int32_t>(shape.size());
    const bool flat = random_() % 3 == 0;
    const std::int32_t axis =
        flat ? GPUKERN_AXIS_NONE : static_cast<std::int32_t>(between(random_, -ndim, ndim - 1));
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + ndim : axis);
    const std::int64_t n = flat ? count_of(shape) : shape[at];
    const Shape vector{std::max<std::int64_t>(1, n + pick(random_, {-3, 0, 0, 2}))};
    Array mask(Placement::CudaHost, kMaskDtypes[random_() % std::size(kMaskDtypes)],
               flat && random_() % 2 == 0 ? shape : vector, input_layout());
    Array x(Placement::CudaHost, dtype, shape, input_layout());
    fill_random(x.storage.host, random_);
    fill_random(mask.storage.host, random_);
    fill_mask(mask, random_, pick(random_, {0.0, 0.02, 0.5, 0.9, 1.0}));
    Shape out_shape = flat ? Shape{0} : shape;
    out_shape[flat ? 0 : at] = any_size(mask);
    Array out(Placement::CudaHost, dtype, out_shape, output_layout());
    // Of the shape of an item, or the end of it.
    Shape fill_shape(flat ? shape.end() : shape.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                     shape.end());
    fill_shape.erase(fill_shape.begin(),
                     fill_shape.begin() + between(random_, 0, std::ssize(fill_shape)));
    Array fill(Placement::Cpu, dtype, fill_shape);
    fill_random(fill.storage.host, random_);
    with_little_memory([&] {
      expect_compressed({mask, x, axis, out, random_() % 2 == 0 ? &fill : nullptr},
                        Placement::CudaHost);
    });
  }
  EXPECT_GT(fake_gpu().take_ranges()["select: chunk"], rounds(600));
}

TEST_F(SelectChunksTest, AnyNonzeroIsThatOfTheWhole) {
  for (int round = 0; round < rounds(400); ++round) {
    const Shape shape = any_shape();
    Array mask(Placement::CudaHost, kMaskDtypes[random_() % std::size(kMaskDtypes)], shape,
               input_layout());
    fill_mask(mask, random_, pick(random_, {0.0, 0.02, 0.5, 1.0}));
    Array out(Placement::CudaHost, kPositions, {std::ssize(shape), any_size(mask)},
              output_layout());
    with_little_memory([&] { expect_nonzero(mask, out, -7, Placement::CudaHost); });
  }
  EXPECT_GT(fake_gpu().take_ranges()["select: chunk"], rounds(400));
}

/// Every second of many rows.
class CompressInChunksTest : public testing::Test {
 protected:
  CompressInChunksTest() {
    fill_random(x_.storage.host, random_);
    for (std::size_t k = 0; k < kRows; ++k)
      mask_.storage.host[static_cast<std::size_t>(mask_.offsets()[k])] =
          static_cast<std::byte>(k % 2);
    exec_.device = kCuda;
    exec_.device_memory_limit = kLimit;
  }
  gpukern_status run() { return call_.run(exec_); }

  static constexpr std::int64_t kRows = 4000;
  static constexpr std::size_t kLimit = 20000;
  Random random_{20261125};
  Array mask_{Placement::CudaHost, kMaskDtypes[0], {kRows}};
  Array x_{Placement::CudaHost, kFloat32, {kRows, 5}};
  Array out_{Placement::CudaHost, kFloat32, {kRows / 2 + 100, 5}};
  CompressCall call_{mask_, x_, 0, out_};
  gpukern_exec exec_ = GPUKERN_EXEC_INIT;
};

TEST_F(CompressInChunksTest, RunsOnTheGpuInsideItsLimit) {
  fake_gpu().take_peak_bytes();
  fake_gpu().take_ranges();
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_LE(fake_gpu().take_peak_bytes(), kLimit);
  EXPECT_GT(fake_gpu().take_ranges()["select: chunk"], 10);
}

TEST_F(CompressInChunksTest, IsExplained) {
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  exec_.explanation = &explanation;
  const Bytes before = out_.storage.host;
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(explanation.rule, GPUKERN_RULE_ARGUMENT);
  EXPECT_GT(explanation.chunks, 10);
  EXPECT_EQ(explanation.bytes_from_device, out_.count() * 4);
  EXPECT_GE(explanation.bytes_to_device, out_.count() * 4);
  EXPECT_LE(explanation.bytes_allocated, static_cast<std::int64_t>(kLimit));
  EXPECT_TRUE(same_bytes(before, out_.storage.host));
}

TEST_F(CompressInChunksTest, ReportsItsProgress) {
  Reports reports;
  reports.listen_to(exec_);
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(reports.total, static_cast<std::uint64_t>(out_.count()) * 4);
  EXPECT_GT(reports.done.size(), 10U);
  reports.expect_whole();
}

/// Chunks without a selected row, too.
TEST_F(CompressInChunksTest, StopsWhereNothingIsSelected) {
  std::fill(mask_.storage.host.begin(), mask_.storage.host.end(), std::byte{});
  Reports reports;
  reports.stops_after = 3;
  reports.listen_to(exec_);
  expect_error(run(), GPUKERN_CANCELLED, "compress: stopped by the progress callback at 0 of ");
}

TEST_F(CompressInChunksTest, StopsBetweenChunks) {
  Reports reports;
  reports.stops_after = 3;
  reports.listen_to(exec_);
  expect_error(run(), GPUKERN_CANCELLED, "compress: stopped by the progress callback at ");
  EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
}

TEST_F(CompressInChunksTest, ReleasesItsMemoryWhenTheGpuFails) {
  fake_gpu().fail_copies_after(5);
  expect_error(run(), GPUKERN_CUDA_ERROR, "the fake GPU fails");
  EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
}

}  // namespace
}  // namespace gpukern_test

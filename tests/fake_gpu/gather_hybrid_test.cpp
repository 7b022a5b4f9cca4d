// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The CPU's share of a gather from pinned memory, and what such a call enqueues.

#include "src/ops/gather_hybrid.hpp"

#include <cstdlib>

#include "fake_gpu.hpp"
#include "gather_oracle.hpp"
#include "gpukern/explain.h"
#include "src/runtime/pipeline_tuning.hpp"
#include "src/runtime/throughput_estimate.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr std::int64_t kGi = std::int64_t{1} << 30;

/// The CPU's share of a gather of rows from a table of 32 GiB.
double part(std::int64_t bytes, std::int64_t item, int threads, std::int64_t table = 32 * kGi) {
  const std::int64_t items = bytes / item;
  const auto by_cpu =
      gpukern::split({.source_bytes = table, .items = items, .item = item, .threads = threads});
  return static_cast<double>(by_cpu) / static_cast<double>(items);
}

TEST(HybridSplitTest, TheCpuTakesAShareIfTranslationIsTheLimit) {
  EXPECT_GT(part(kGi, 4, 16), 0.9);
  EXPECT_GT(part(kGi, 256, 16), 0.85);
  EXPECT_GT(part(kGi, 1024, 16), 0.6);
  EXPECT_LT(part(kGi, 1024, 16), 0.9);
}

TEST(HybridSplitTest, TheGpuTakesAllIfItIsAsFast) {
  EXPECT_EQ(part(kGi, 4096, 16), 0);
  EXPECT_EQ(part(kGi, 256, 1), 0);
  EXPECT_EQ(part(256 << 10, 256, 16), 0);
  EXPECT_EQ(part(kGi, kMi, 16), 0);
  EXPECT_EQ(part(kGi, 256, 16, kGi / 2), 0);
}

/// If reading in place is not limited by translation, the CPU's share costs little time.
TEST(HybridSplitTest, IsBounded) {
  for (const std::int64_t item : {64, 128, 256, 512, 1024})
    for (const int threads : {2, 4, 8, 16, 64}) {
      const auto bytes = static_cast<double>(item);
      const double alone = std::max(1 / gpukern::kInPlaceItems, bytes / gpukern::kInPlaceBytes);
      EXPECT_LE(part(kGi, item, threads) * gpukern::cpu_time(item, threads),
                gpukern::kHybridLoss * alone);
    }
}

TEST(HybridSplitTest, ASlowerCpuTakesLess) {
  gpukern::SplitFacts facts{.source_bytes = 32 * kGi, .items = kMi, .item = 1024, .threads = 16};
  std::int64_t before = facts.items;
  for (const double slowdown : {0.5, 1.0, 2.0, 3.0}) {
    facts.slowdown = slowdown;
    const std::int64_t by_cpu = gpukern::split(facts);
    EXPECT_LT(by_cpu, before);
    EXPECT_GT(by_cpu, 0);
    before = by_cpu;
  }
}

TEST(ThroughputEstimateTest, IsAMovingMean) {
  gpukern::ThroughputEstimate estimate;
  EXPECT_EQ(estimate.factor(), 1);
  estimate.note(10, 30);
  EXPECT_GT(estimate.factor(), 1);
  EXPECT_LT(estimate.factor(), 3);
  for (int k = 0; k < 60; ++k) estimate.note(10, 30);
  EXPECT_NEAR(estimate.factor(), 3, 0.01);
  for (int k = 0; k < 60; ++k) estimate.forget();
  EXPECT_NEAR(estimate.factor(), 1, 0.01);
}

TEST(ThroughputEstimateTest, IsBounded) {
  gpukern::ThroughputEstimate estimate;
  for (int k = 0; k < 100; ++k) estimate.note(1, 1e9);
  EXPECT_LE(estimate.factor(), 8);
  for (int k = 0; k < 100; ++k) estimate.note(1e9, 1);
  EXPECT_GE(estimate.factor(), 0.5);
}

/// Rows of 256 bytes in pinned memory, of which the CPU takes three quarters.
class HybridGatherTest : public testing::Test {
 protected:
  const EnvironmentVariable share_{"GPUKERN_CPU_SHARE", "75"};
  static constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};
  static constexpr std::int64_t kTable = 100;
  static constexpr std::int64_t kRows = 40000;
  static constexpr std::int64_t kRow = 256;

  void TearDown() override {
    EXPECT_EQ(gpukern_release(kPinned, source_, nullptr), GPUKERN_SUCCESS);
  }

  gpukern_status run(gpukern_explanation* explanation = nullptr, void* stream = nullptr) {
    if (source_ == nullptr) {
      EXPECT_EQ(gpukern_allocate(kPinned, kTable * kRow, nullptr, &source_), GPUKERN_SUCCESS);
      for (std::int64_t row = 0; row < kTable; ++row)
        std::memset(static_cast<std::byte*>(source_) + row * kRow, static_cast<int>(row + 1), kRow);
      for (std::int64_t i = 0; i < kRows; ++i)
        store(index_.memory->host, kGuard + i * 4, static_cast<std::int32_t>(i * 7 % kTable));
      index_.memory->commit();
      out_.memory->commit();
    }
    std::int64_t size = kTable;
    const gpukern_tensor from{source_, kCpu, 1, bytes_dtype(kRow), &size, nullptr, 0};
    const gpukern_tensor at = index_.tensor();
    const gpukern_tensor to = out_.tensor();
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.explanation = explanation;
    exec.stream = stream;
    return call_gather(&from, &at, 0, &to, gather_options(GPUKERN_INDEX_CLIP), &exec);
  }
  bool right() {
    out_.memory->fetch();
    for (std::int64_t i = 0; i < kRows * kRow; ++i)
      if (load<std::uint8_t>(out_.memory->host, kGuard + i) != i / kRow * 7 % kTable + 1)
        return false;
    return true;
  }

  void* source_ = nullptr;
  Array index_{Placement::Cuda, kInt32.dtype, {kRows}};
  Array out_{Placement::Cuda, bytes_dtype(kRow), {kRows}};
};

TEST_F(HybridGatherTest, IsOnlyEnqueued) {
  const std::size_t before = fake_gpu().waiting();
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_GT(fake_gpu().waiting(), before + 12);
  EXPECT_TRUE(right());
}

TEST_F(HybridGatherTest, ExplainsBothParts) {
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  ASSERT_EQ(run(&explanation), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(explanation.rule, GPUKERN_RULE_ARRAYS);
  EXPECT_EQ(explanation.threads, std::max(1, gpukern_num_threads() - 1));
  EXPECT_EQ(explanation.chunks, 4);
  EXPECT_EQ(explanation.bytes_to_device, kRows * kRow);
  EXPECT_EQ(explanation.bytes_from_device, kRows * 3);
  EXPECT_EQ(explanation.bytes_read, kRows);
  EXPECT_EQ(explanation.bytes_allocated, 0);
}

TEST_F(HybridGatherTest, ACaptureReadsInPlace) {
  fake_gpu().capture(true);
  const std::size_t before = fake_gpu().launches();
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(fake_gpu().launches(), before + 1);
  fake_gpu().capture(false);
  EXPECT_TRUE(right());
}

TEST_F(HybridGatherTest, NoStreamWaitsForTheWorkBeforeAnotherGather) {
  void* const held = fake_gpu().make_stream();
  void* const other = fake_gpu().make_stream();
  const auto steps_of_a_call = [&](void* stream) {
    const std::size_t before = fake_gpu().waiting();
    EXPECT_EQ(run(nullptr, stream), GPUKERN_SUCCESS) << gpukern_last_error();
    return fake_gpu().waiting() - before;
  };
  EXPECT_GT(steps_of_a_call(held), 12U);
  EXPECT_GT(steps_of_a_call(held), 12U) << "a stream follows itself";
  EXPECT_EQ(steps_of_a_call(other), 1U) << "in place: the second call has not begun";
  const std::size_t waiting = fake_gpu().waiting();
  fake_gpu().synchronize(other);
  EXPECT_TRUE(right());
  EXPECT_EQ(fake_gpu().waiting(), waiting - 1);
  fake_gpu().synchronize(held);
  EXPECT_GT(steps_of_a_call(other), 12U);
  fake_gpu().synchronize(other);
}

/// The stream waits for the work that was enqueued before one chunk fails.
TEST_F(HybridGatherTest, AFailureLeavesNothingUnordered) {
  EXPECT_EQ(gpukern_synchronize(kCuda, nullptr), GPUKERN_SUCCESS);
  const std::size_t before = fake_gpu().waiting();
  fake_gpu().fail_copies_after(2);
  expect_error(run(), GPUKERN_CUDA_ERROR, "the fake GPU fails");
  EXPECT_GT(fake_gpu().waiting(), before);
  EXPECT_EQ(gpukern_synchronize(kCuda, nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(fake_gpu().waiting(), before);
  ASSERT_EQ(run(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(right());
}

using HybridGatherDeathTest = HybridGatherTest;

TEST_F(HybridGatherDeathTest, WithoutPageLockedMemoryAllIsReadInPlace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process without slots
  const auto run_without = [this] {
    if (run() != GPUKERN_SUCCESS) std::exit(1);  // the source allocates pinned memory first
  };
  EXPECT_EXIT(
      {
        fake_gpu().limit_pinned(kMi);
        const std::size_t before = fake_gpu().launches();
        run_without();
        run_without();
        std::exit(fake_gpu().launches() == before + 2 && right() ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

/// At exit, host functions that have not started are dropped without a wait.
TEST_F(HybridGatherDeathTest, ExitDoesNotWaitForPendingWork) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(run() == GPUKERN_SUCCESS ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gpukern_test

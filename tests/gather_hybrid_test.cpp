// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Hybrid gathers: the GPU and the CPU together gather rows from page-locked host memory.

#include <memory>
#include <thread>

#include "hybrid_rows.hpp"

namespace gpukern_test {
namespace {

class HybridRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(HybridRowsTest, AnyWidthIndexModeAndShare) {
  Random random(std::random_device{}());
  for (int round = 0; round < rounds(60); ++round) {
    const int width = pick(random, {1, 3, 4, 8, 16, 20, 64, 100, 256, 1000, 1024, 4096});
    const auto count = between(random, 1, (std::int64_t{3} << 20) / width);
    const auto table = between(random, 1, 5000);
    const auto mode = static_cast<gpukern_index_mode>(random() % 4);
    const bool reach = mode != GPUKERN_INDEX_RAISE || random() % 4 == 0;
    Rows rows(random, table, std::min<std::int64_t>(count, 200000), width,
              kIndexTypes[random() % std::size(kIndexTypes)], reach ? table : 0,
              kInputLayouts[random() % std::size(kInputLayouts)]);
    const Array fill(Placement::Cpu, rows.source.dtype, {});
    fill_random(fill.memory->host, random);
    const View* const value = mode == GPUKERN_INDEX_FILL && random() % 2 == 0 ? &fill : nullptr;
    const Share share(pick(random, {0, 1, 50, 90, 100}));
    const Expected expected = rows.expected(mode, value);
    const gpukern_status status = rows.run(mode, value);
    EXPECT_EQ(status, expected.status) << gpukern_last_error();
    if (status != GPUKERN_SUCCESS) {
      EXPECT_EQ(gpukern_last_error(), expected.message);
    }
    rows.expect_out(expected);
  }
}

/// Rows of a table that exceeds every core's cache are prefetched.
TEST_F(HybridRowsTest, TakesRowsOfALargeTable) {
  Random random(std::random_device{}());
  const Share share(100);
  for (const int width : {48, 64, 72, 80, 96, 256, 1008}) {
    const std::int64_t table = (std::int64_t{rounds(40)} << 20) / width;
    for (const auto mode :
         {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL, GPUKERN_INDEX_RAISE}) {
      Rows rows(random, table, between(random, 3000, 6000), width,
                kIndexTypes[random() % std::size(kIndexTypes)],
                mode == GPUKERN_INDEX_RAISE ? 0 : table);
      const Expected expected = rows.expected(mode);
      ASSERT_EQ(rows.run(mode), GPUKERN_SUCCESS) << gpukern_last_error();
      rows.expect_out(expected);
    }
  }
}

TEST_F(HybridRowsTest, TheFillValueMayChangeAfterTheCall) {
  Random random(std::random_device{}());
  const Share share(80);
  Rows rows(random, 1000, 20000, 256, kInt64, 1000);
  Array fill(Placement::Cpu, rows.source.dtype, {});
  fill_random(fill.memory->host, random);
  const Expected expected = rows.expected(GPUKERN_INDEX_FILL, &fill);
  ASSERT_EQ(rows.run(GPUKERN_INDEX_FILL, &fill), GPUKERN_SUCCESS) << gpukern_last_error();
  fill_random(fill.memory->host, random);
  rows.expect_out(expected);
}

TEST_F(HybridRowsTest, CallsShareTheSlots) {
  const Share share(90);
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([caller] {
      Random random(caller);
      std::vector<std::unique_ptr<Rows>> calls;
      std::vector<Expected> expected;
      for (int round = 0; round < 5; ++round) {
        calls.push_back(std::make_unique<Rows>(random, 3000, 30000 + round, 128));
        expected.push_back(calls.back()->expected(GPUKERN_INDEX_CLIP));
      }
      for (const auto& rows : calls)
        ASSERT_EQ(rows->run(GPUKERN_INDEX_CLIP), GPUKERN_SUCCESS) << gpukern_last_error();
      for (std::size_t k = 0; k < calls.size(); ++k) calls[k]->expect_out(expected[k]);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_F(HybridRowsTest, TheShareMustBeAPercentage) {
  Random random(1);
  const Rows rows(random, 10, 10, 4);
  for (const int share : {-1, 101}) {
    const Share set(share);
    expect_error(rows.run(GPUKERN_INDEX_CLIP), GPUKERN_VALUE_ERROR,
                 "GPUKERN_CPU_SHARE must be a percentage from 0 to 100, got ");
  }
}

}  // namespace
}  // namespace gpukern_test

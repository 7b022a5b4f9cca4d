// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "cuda/scatter/slice_bits.hpp"

namespace gpukern::gpu {
namespace {

constexpr int kMost = 12;
constexpr std::int64_t kMi = 1 << 20;

TEST(ScatterSliceBitsTest, SavesPasses) {
  // 1024 elements, of 1024 updates: two passes for four.
  EXPECT_EQ(slice_bits(128 * kMi, 27, kMost), 11);
  for (std::int64_t count = 8 * kMi; count < std::int64_t{1} << 32; count = count * 5 / 4)
    for (int key_bits = 1; key_bits <= 32; ++key_bits)
      for (int most = 3; most <= kMost; ++most) {
        const int bits = slice_bits(count, key_bits, most);
        ASSERT_LE(bits, most);
        if (bits == 0) continue;
        ASSERT_GE(bits, 3);
        ASSERT_LT(sort_passes(key_bits - bits), sort_passes(key_bits));
      }
}

// scatter_slices_test has targets of these sizes.
TEST(ScatterSliceBitsTest, LengthsOfSlices) {
  constexpr std::int64_t kCount = 8 * kMi + 77;
  EXPECT_EQ(slice_bits(kCount, 17, kMost), 3);
  EXPECT_EQ(slice_bits(kCount, 21, kMost), 7);
  EXPECT_EQ(slice_bits(kCount, 23, kMost), 9);
  EXPECT_EQ(slice_bits(kCount, 25, kMost), 11);
  EXPECT_EQ(slice_bits(kCount, 26, kMost), 0);
}

TEST(ScatterSliceBitsTest, ManyUpdatesOnly) {
  EXPECT_EQ(slice_bits(8 * kMi - 1, 20, kMost), 0);
  EXPECT_GT(slice_bits(8 * kMi, 20, kMost), 0);
}

TEST(ScatterSliceBitsTest, UpdatesForEachElement) {
  EXPECT_GT(slice_bits(32 * kMi, 27, kMost), 0);
  EXPECT_EQ(slice_bits(32 * kMi - 1, 27, kMost), 0);
  EXPECT_GT(slice_bits(128 * 128 * kMi - 1, 27, kMost), 0);
  EXPECT_EQ(slice_bits(128 * 128 * kMi, 27, kMost), 0);
}

}  // namespace
}  // namespace gpukern::gpu

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

// scatter_slices_test has updates and targets of these sizes.
TEST(ScatterTileSlicesTest, LengthsOfSlices) {
  constexpr std::int64_t kFew = (96 << 10) + 1;
  EXPECT_EQ(TileSlices::bits(kFew, 383, 11), -1);
  EXPECT_EQ(TileSlices::bits(kFew, 384, 11), -1);
  EXPECT_EQ(TileSlices::bits(kFew, 385, 11), 3);
  EXPECT_EQ(TileSlices::bits(kFew, 4096, 11), 6);
  EXPECT_EQ(TileSlices::bits(kMi, 70'001, 11), 7);
  EXPECT_EQ(TileSlices::bits(2 * kMi, kMi + 3, 11), 10);
  EXPECT_EQ(TileSlices::bits(2 * kMi, 2 * kMi, 11), 11);
}

TEST(ScatterTileSlicesTest, AnyNumberOfElements) {
  for (std::int64_t count = 96 << 10; count <= 2 * kMi; count = count * 6 / 5)
    for (std::int64_t keys = 1 + count / 256; keys <= 2 * kMi; keys = keys * 9 / 8 + 1) {
      const int bits = TileSlices::bits(count, keys, 11);
      ASSERT_GE(bits, 3) << count << " updates, " << keys << " elements";
      ASSERT_LE((keys - 1) >> bits, 2047);
      ASSERT_LE(count << bits, 2048 * keys);
    }
}

TEST(ScatterTileSlicesTest, Bounds) {
  EXPECT_EQ(TileSlices::bits(2 * kMi + 1, kMi, 11), -1);
  EXPECT_EQ(TileSlices::bits(kMi, 2 * kMi + 1, 11), -1);
  // Of little shared memory: short slices, but not too many.
  EXPECT_EQ(TileSlices::bits(kMi, kMi, 9), 9);
  EXPECT_EQ(TileSlices::bits(kMi, 2 * kMi, 9), -1);
}

}  // namespace
}  // namespace gpukern::gpu

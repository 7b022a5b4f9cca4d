// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

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
  constexpr std::int64_t kFew = 32 << 10;
  EXPECT_EQ(TileSlices::bits(kFew, 64, 11), -1);
  EXPECT_EQ(TileSlices::bits(kFew, 65, 11), 3);
  EXPECT_EQ(TileSlices::bits(kFew, 4096, 11), 5);
  EXPECT_EQ(TileSlices::bits((96 << 10) + 1, 4096, 11), 3);
  EXPECT_EQ(TileSlices::bits(kFew, 70'001, 11), 10);
  EXPECT_EQ(TileSlices::bits(kMi, 70'001, 11), 8);
  EXPECT_EQ(TileSlices::bits(200'001, 70'001, 11), 8);
  EXPECT_EQ(TileSlices::bits(kMi - 1, kMi, 11), 11);
  EXPECT_EQ(TileSlices::bits(2 * kMi, kMi + 3, 11), 11);
  EXPECT_EQ(TileSlices::bits(2 * kMi, 2 * kMi, 11), 11);
}

TEST(ScatterTileSlicesTest, AnyNumberOfElements) {
  for (std::int64_t count = 32 << 10; count <= 2 * kMi; count = count * 6 / 5)
    for (std::int64_t keys = 1 + count / 256; keys <= 2 * kMi; keys = keys * 9 / 8 + 1) {
      const int bits = TileSlices::bits(count, keys, 11);
      ASSERT_GE(bits, 3) << count << " updates, " << keys << " elements";
      ASSERT_LE((keys - 1) >> bits, 1023);
      ASSERT_LE(count << bits,
                2048 * static_cast<std::int64_t>(std::bit_ceil(std::uint64_t(keys))));
    }
}

TEST(ScatterTileSlicesTest, Bounds) {
  EXPECT_EQ(TileSlices::bits(2 * kMi + 1, kMi, 11), -1);
  EXPECT_EQ(TileSlices::bits(kMi, 2 * kMi + 1, 11), -1);
  // Of little shared memory: short slices, but not too many.
  EXPECT_EQ(TileSlices::bits(kMi, kMi, 9), 9);
  EXPECT_EQ(TileSlices::bits(kMi, 2 * kMi, 9), -1);
}

TEST(ScatterTileSlicesTest, LengthsOfTiles) {
  EXPECT_EQ(TileSlices::updates_of_tile(1), 1024);
  EXPECT_EQ(TileSlices::updates_of_tile(128 << 10), 1024);
  EXPECT_EQ(TileSlices::updates_of_tile((128 << 10) + 1), 2048);
  EXPECT_EQ(TileSlices::updates_of_tile(2 * kMi), 4096);
}

TEST(ScatterKeySpreadTest, IsOneToOne) {
  for (const std::int64_t keys : {1, 8, 9, 1000, 4096, 70'001}) {
    const KeySpread spread(keys, keys % 2 == 0 ? 0 : 3);
    std::vector<bool> found(std::size_t{1} << spread.bits());
    for (std::uint32_t key = 0; key < static_cast<std::uint32_t>(keys); ++key) {
      const std::uint32_t to = spread.spread(key);
      ASSERT_LT(to, found.size());
      ASSERT_FALSE(found[to]) << keys << " keys, " << key;
      found[to] = true;
      ASSERT_EQ(spread.key(to), key);
    }
  }
}

TEST(ScatterKeySpreadTest, LeavesKeysAsTheyAre) {
  const KeySpread spread;
  EXPECT_EQ(spread.bits(), 32);
  for (const std::uint32_t key : {0U, 1U, 1U << 31, ~0U - 1}) {
    EXPECT_EQ(spread.spread(key), key);
    EXPECT_EQ(spread.key(key), key);
  }
}

// A window of neighbouring keys has about as many in each of 64 slices.
TEST(ScatterKeySpreadTest, SpreadsWindows) {
  for (int bits = 12; bits <= 21; ++bits) {
    const KeySpread spread(std::int64_t{1} << bits, bits % 2 == 0 ? 0 : 3);
    for (const std::uint32_t first : {0U, 1U << (bits - 2), 3U << (bits - 2)}) {
      const std::uint32_t window = 1U << (bits - 2);
      std::vector<std::uint32_t> keys(64);
      for (std::uint32_t key = first; key < first + window; ++key)
        ++keys[spread.spread(key) >> (bits - 6)];
      EXPECT_LE(std::ranges::max(keys), window / 32) << bits << " bits from " << first;
    }
  }
}

}  // namespace
}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A GPU sorts many updates of single values by slice of the target (slice_bits() in
// cuda/scatter/slice_bits.hpp), and those of slices with many updates, or many of one element, by
// element. Fewer floating-point values, and rows, are sorted by slice in each tile
// (cuda/scatter/tiles.cuh).

#include <algorithm>
#include <cmath>

#include "cuda/scatter/slice_bits.hpp"
#include "device_memory.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = (1 << 23) + 77;
using Indices = std::vector<std::int32_t>;
using Pattern = void (*)(Indices& indices, std::int64_t size, Random& random);

void fill_uniform(Indices& indices, std::int64_t size, Random& random) {
  for (auto& at : indices) at = static_cast<std::int32_t>(between(random, 0, size - 1));
}

void fill_skewed(Indices& indices, std::int64_t size, Random& random) {
  for (auto& at : indices) {
    const double u = static_cast<double>(between(random, 0, (1 << 30) - 1)) / (1 << 30);
    at = static_cast<std::int32_t>(std::pow(u, 8) * static_cast<double>(size));
  }
}

void fill_outside(Indices& indices, std::int64_t size, Random& random) {
  for (auto& at : indices) at = static_cast<std::int32_t>(between(random, -9 * size, 9 * size));
}

constexpr std::pair<const char*, Pattern> kPatterns[] = {
    {"uniform", fill_uniform},
    {"sorted",
     [](Indices& indices, std::int64_t size, Random& random) {
       fill_uniform(indices, size, random);
       std::ranges::sort(indices);
     }},
    {"skewed", fill_skewed},
    {"half to one",
     [](Indices& indices, std::int64_t size, Random& random) {
       fill_uniform(indices, size, random);
       for (auto& at : indices)
         if (random() % 2 == 0) at = static_cast<std::int32_t>(size / 3);
     }},
    {"all to one",
     [](Indices& indices, std::int64_t size, Random&) {
       std::ranges::fill(indices, static_cast<std::int32_t>(size - 1));
     }},
    // About as many values for an element as fit in a block, in slices of any length.
    {"a block each",
     [](Indices& indices, std::int64_t size, Random& random) {
       std::int32_t at = 0;
       std::int64_t left = 0;
       for (auto& index : indices) {
         if (left-- == 0) {
           at = static_cast<std::int32_t>(between(random, 0, size - 1));
           left = between(random, 253, 258);
         }
         index = at;
       }
       std::ranges::shuffle(indices, random);
     }},
    {"one slice",
     [](Indices& indices, std::int64_t size, Random& random) {
       for (auto& at : indices) at = static_cast<std::int32_t>(size - 1 - between(random, 0, 40));
     }},
    {"mostly outside", fill_outside},
};

class ScatterSlicesTest : public GpuTest {
 protected:
  static void store_indices(Array& index, const Indices& indices) {
    for (std::size_t k = 0; k < indices.size(); ++k)
      store(index.storage.host, kGuard + 4 * static_cast<std::int64_t>(k), indices[k]);
  }

  void check(Pattern pattern, std::int64_t size, gpukern_dtype dtype, gpukern_reduce reduce,
             gpukern_index_mode mode, Layout layout, std::int64_t count, std::int64_t columns = 0) {
    SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
                 " bits, reduce " + std::to_string(reduce) + ", mode " + std::to_string(mode) +
                 ", " + std::to_string(size) + " elements");
    std::vector<std::int64_t> to{size};
    std::vector<std::int64_t> from{count};
    if (columns > 0) {
      to.push_back(columns);
      from.push_back(columns);
    }
    Array target(Placement::Cuda, dtype, to, layout);
    Array index(Placement::Cuda, kInt32.dtype, {count});
    Array values(Placement::Cuda, dtype, from, layout);
    fill_numbers(target, random_, true);
    fill_numbers(values, random_, true);
    Indices indices(count);
    pattern(indices, size, random_);
    store_indices(index, indices);
    expect_scatter({false, target, index, values, 0, scatter_options(mode, reduce)},
                   Placement::Cuda);
  }

  void check_all(std::int64_t size, gpukern_dtype dtype, gpukern_reduce reduce,
                 gpukern_index_mode mode, Layout layout, std::int64_t count = kCount) {
    for (const auto& [name, pattern] : kPatterns) {
      SCOPED_TRACE(name);
      check(pattern, size, dtype, reduce, mode, layout, count);
    }
  }

  void check_pattern(Pattern pattern, std::int64_t size, gpukern_dtype dtype, gpukern_reduce reduce,
                     gpukern_index_mode mode, std::int64_t count = kCount) {
    check(pattern, size, dtype, reduce, mode, Layout::Contiguous, count);
  }

  Random random_{20261126};
};

// The larger a target, the longer its slices: 8, 128, 512 or 2048 elements. A table of each
// element's last update stays in the L2 cache for the shorter ones, so that no value is put by
// slices.
constexpr std::int64_t kSmall = 70'001;
constexpr std::int64_t kMedium = (1 << 20) + 3;
constexpr std::int64_t kLarge = 8'000'003;
constexpr std::int64_t kHuge = 1 << 25;

TEST_F(ScatterSlicesTest, Sums) {
  check_all(kMedium, kFloat64, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Reversed);
  check_all(kLarge, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_CLIP, Layout::Unaligned);
}

TEST_F(ScatterSlicesTest, SlicesOfAnyLength) {
  check_pattern(fill_skewed, kSmall, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_WRAP);
  check_pattern(fill_skewed, kHuge, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_WRAP);
  // Skipped updates have a separate slice.
  check_pattern(fill_outside, 1 << 20, kFloat32, GPUKERN_REDUCE_MAX, GPUKERN_INDEX_FILL);
}

TEST_F(ScatterSlicesTest, LongerChunks) {
  check_pattern(fill_skewed, kLarge, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_WRAP, 4 * kCount);
}

TEST_F(ScatterSlicesTest, EveryDtype) {
  for (const gpukern_dtype dtype : kReducedDtypes)
    check_pattern(fill_skewed, kMedium, dtype, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_RAISE);
}

/// They are sorted where updates are many, and an array of wider ones is larger than a cache.
TEST_F(ScatterSlicesTest, NarrowIntegers) {
  constexpr gpukern_dtype kInt8{GPUKERN_INT, 8, 1};
  constexpr gpukern_dtype kUint16{GPUKERN_UINT, 16, 1};
  check_pattern(fill_skewed, kHuge, kUint16, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_CLIP);
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MIN, GPUKERN_REDUCE_MAX})
    check_pattern(fill_skewed, kHuge, kInt8, reduce, GPUKERN_INDEX_CLIP);
}

TEST_F(ScatterSlicesTest, OtherReductions) {
  constexpr gpukern_dtype kInt16{GPUKERN_INT, 16, 1};
  for (const gpukern_dtype dtype : {kReducedDtypes[0], kInt16, kFloat32})
    for (const gpukern_reduce reduce :
         {GPUKERN_REDUCE_MIN, GPUKERN_REDUCE_MAX, GPUKERN_REDUCE_MEAN, GPUKERN_REDUCE_MULTIPLY})
      if (has_reduction(dtype, reduce))
        check_pattern(fill_skewed, kMedium, dtype, reduce, GPUKERN_INDEX_CLIP);
}

TEST_F(ScatterSlicesTest, Puts) {
  for (const int width : {1, 2, 4, 8}) {
    const gpukern_dtype dtype = bytes_dtype(width);
    check_pattern(fill_uniform, kLarge, dtype, GPUKERN_REDUCE_NONE, GPUKERN_INDEX_CLIP);
    check_pattern(fill_skewed, kLarge, dtype, GPUKERN_REDUCE_NONE, GPUKERN_INDEX_FILL);
  }
}

TEST_F(ScatterSlicesTest, AlongAnAxis) {
  constexpr std::int64_t kColumns = 70'001;
  for (const std::int64_t rows : {120, 3}) {
    Indices indices(rows * kColumns);
    fill_skewed(indices, kColumns, random_);
    Array target(Placement::Cuda, kFloat64, {rows, kColumns});
    Array index(Placement::Cuda, kInt32.dtype, {rows, kColumns});
    Array values(Placement::Cuda, kFloat64, {rows, kColumns});
    fill_numbers(target, random_, true);
    fill_numbers(values, random_, true);
    store_indices(index, indices);
    expect_scatter(
        {true, target, index, values, 1, scatter_options(GPUKERN_INDEX_CLIP, GPUKERN_REDUCE_ADD)},
        Placement::Cuda);
  }
}

// The least number of updates by tiles, with tiles of each length, and the most.
constexpr std::int64_t kTileCounts[] = {32 << 10, 200'001, 1 << 20, 1 << 21};

TEST_F(ScatterSlicesTest, SumsOfTiles) {
  for (const std::int64_t count : kTileCounts)
    check_all(kMedium, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Reversed, count);
  check_all(kSmall, kFloat64, GPUKERN_REDUCE_MEAN, GPUKERN_INDEX_WRAP, Layout::Unaligned,
            kTileCounts[0]);
}

// Slices of 8 to 2048 elements, and targets of all numbers of bits in part or as a whole.
TEST_F(ScatterSlicesTest, TilesBySlicesOfAnyLength) {
  for (const std::int64_t size : {65, 600, 4095, 4096, 4097, 70'001, 1 << 21})
    check_all(size, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_CLIP, Layout::Contiguous,
              kTileCounts[0]);
  check_pattern(fill_uniform, 1 << 21, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_CLIP,
                kTileCounts[3]);
}

// Of 4096 elements, slices of 8 with as many updates as a block sorts, and one more; elements with
// whole blocks of values; and the rest elsewhere.
void fill_slices(Indices& indices, std::int64_t size, Random& random) {
  const gpukern::gpu::KeySpread spread(size, 0);
  auto at = indices.begin();
  const auto add = [&](std::uint32_t key, int number) {
    at = std::fill_n(at, number, static_cast<std::int32_t>(spread.key(key)));
  };
  for (std::uint32_t key = 0; key < 8; ++key) add(key, 512);
  std::uint32_t key = 8;
  for (const int number : {512, 511, 255, 4097 - 512 - 511 - 255}) add(key++, number);
  key = 16;
  for (const int number : {254, 255, 256, 257, 510, 511, 512, 513}) add(key++, number);
  while (at != indices.end()) add(static_cast<std::uint32_t>(between(random, 24, size - 1)), 1);
  std::ranges::shuffle(indices, random);
}

void fill_skipped(Indices& indices, std::int64_t size, Random&) {
  std::ranges::fill(indices, static_cast<std::int32_t>(size));
}

void fill_1200(Indices& indices, std::int64_t, Random& random) {
  fill_uniform(indices, 1200, random);
}

/// The least number of rows by tiles, and one more.
constexpr std::int64_t kTileRows = (96 << 10) + 1;

TEST_F(ScatterSlicesTest, FullSlicesOfTiles) {
  check_pattern(fill_slices, 4096, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_RAISE, kTileRows);
  check(fill_slices, 4096, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_RAISE, Layout::Contiguous,
        kTileRows, 3);
}

TEST_F(ScatterSlicesTest, RowsByTiles) {
  for (const auto& [name, pattern] : kPatterns) {
    SCOPED_TRACE(name);
    check(pattern, kMedium, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Contiguous,
          kTileRows, 4);
    check(pattern, kSmall, kFloat64, GPUKERN_REDUCE_MEAN, GPUKERN_INDEX_WRAP, Layout::Reversed,
          200'001, 3);
  }
  for (const Pattern pattern : {fill_uniform, fill_skewed, fill_outside})
    check(pattern, 1 << 21, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Contiguous,
          1 << 21, 2);
}

TEST_F(ScatterSlicesTest, EveryTypeOfRowsByTiles) {
  for (const gpukern_dtype dtype : kReducedDtypes)
    for (const std::int64_t columns : {1, 3}) {
      check(fill_outside, kSmall, dtype, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Contiguous,
            kTileRows, columns);
      if (has_reduction(dtype, GPUKERN_REDUCE_MULTIPLY))
        check(fill_skewed, kSmall, dtype, GPUKERN_REDUCE_MULTIPLY, GPUKERN_INDEX_CLIP,
              Layout::Unaligned, kTileRows, columns);
    }
}

// More than 1024 keys with several blocks of values, in long slices.
TEST_F(ScatterSlicesTest, ManyLongKeysOfTiles) {
  check_pattern(fill_1200, 10'000, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_CLIP,
                kTileCounts[3]);
}

TEST_F(ScatterSlicesTest, AllUpdatesOfTilesSkipped) {
  check_pattern(fill_skipped, 4096, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL,
                kTileCounts[0]);
  check(fill_skipped, 4096, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Contiguous,
        kTileRows, 3);
}

TEST_F(ScatterSlicesTest, EveryTypeInTiles) {
  for (const gpukern_dtype dtype : kReducedDtypes)
    for (const gpukern_reduce reduce : {GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MULTIPLY})
      if (has_reduction(dtype, reduce))
        for (const Layout layout : {Layout::Contiguous, Layout::Unaligned})
          for (const Pattern pattern : {fill_uniform, fill_skewed})
            check(pattern, kSmall, dtype, reduce, GPUKERN_INDEX_CLIP, layout, kTileCounts[0]);
}

TEST_F(ScatterSlicesTest, FewUpdatesForTheTarget) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD})
    check_pattern(fill_uniform, 2 * kHuge, kFloat32, reduce, GPUKERN_INDEX_CLIP);
}

}  // namespace
}  // namespace gpukern_test

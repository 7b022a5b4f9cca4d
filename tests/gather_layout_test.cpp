// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Gathers whose lengths and addresses determine the accesses of the GPU: vectors, chunks, and words
// that pass through shared memory.

#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

struct Offsets {
  std::int64_t source = 0;
  std::int64_t index = 0;
  std::int64_t out = 0;
};

class GatherLayoutTest : public PlacementTest {
 protected:
  void check(gpukern_dtype dtype, const Shape& source_shape, gpukern_dtype index_dtype,
             const Shape& index_shape, std::int32_t axis, gpukern_index_mode mode,
             const Offsets& offsets = {}) {
    Tight source(placement(), dtype, source_shape, offsets.source);
    Tight index(placement(), index_dtype, index_shape, offsets.index);
    Tight out(placement(), dtype, gather_shape(source_shape, index_shape, axis), offsets.out);
    Array fill(Placement::Cpu, dtype, {});
    for (Bytes* bytes : {&source.storage.host, &out.storage.host, &fill.storage.host})
      fill_random(*bytes, random_);
    const std::int64_t size = split_at(source_shape, axis).size;
    fill_indices(index, random_, size, mode == GPUKERN_INDEX_RAISE ? 0 : size / 4);
    expect_gather({source, index, axis, mode, out, mode == GPUKERN_INDEX_FILL ? &fill : nullptr},
                  placement());
  }

  Random random_{4};
};

TEST_P(GatherLayoutTest, RowsOfEveryLengthAtEveryAddress) {
  for (const std::int64_t row : {1,  3,  7,  9,  13, 14,  15,  16,  17,   31,   33,
                                 47, 48, 49, 63, 64, 100, 127, 300, 1001, 9001, 20001}) {
    for (int trial = 0; trial < 12; ++trial) {
      const Offsets offsets{between(random_, 0, 17), 0, between(random_, 0, 17)};
      SCOPED_TRACE("row " + std::to_string(row) + ", source at " + std::to_string(offsets.source) +
                   ", out at " + std::to_string(offsets.out));
      check(bytes_dtype(1), {37, row}, kInt32.dtype, {row > 400 ? 29 : 300}, 0, kModes[trial % 4],
            offsets);
    }
  }
}

TEST_P(GatherLayoutTest, WideElementsAtEveryAddress) {
  for (const int width : {7, 12, 14, 24, 28, 48, 50, 60, 72, 100, 104, 255}) {
    for (int trial = 0; trial < 8; ++trial) {
      const Offsets offsets{between(random_, 0, 17), 0, between(random_, 0, 17)};
      SCOPED_TRACE("width " + std::to_string(width) + ", source at " +
                   std::to_string(offsets.source) + ", out at " + std::to_string(offsets.out));
      check(bytes_dtype(width), {41}, kInt64.dtype, {211}, 0, kModes[trial % 4], offsets);
      check(bytes_dtype(width), {3, 41, 2}, kInt64.dtype, {70}, 1, GPUKERN_INDEX_FILL, offsets);
    }
  }
}

TEST_P(GatherLayoutTest, ASingleShortRow) {
  for (const std::int64_t row : {48, 49, 63, 64})
    for (const std::int64_t at : {0, 1, 15})
      for (const std::int64_t count : {1, 2})
        check(bytes_dtype(1), {1, row}, kInt32.dtype, {count}, 0, GPUKERN_INDEX_RAISE,
              {at, 0, 16 - at});
}

TEST_P(GatherLayoutTest, IndexAndOutBetweenVectors) {
  for (const IndexType& type : kIndexTypes) {
    const std::int64_t index_bytes = type.dtype.bits / 8;
    for (const int width : {1, 2, 4, 8, 16}) {
      for (const std::int64_t skip : {0, 1, 3, 4}) {
        SCOPED_TRACE(std::string(type.name) + ", width " + std::to_string(width) + ", skip " +
                     std::to_string(skip));
        for (const std::int64_t count : {5, 2051})
          check(bytes_dtype(width), {120}, type.dtype, {count}, 0, kModes[skip % 4],
                {0, skip * index_bytes, (skip / 2) * width});
      }
    }
  }
}

TEST_P(GatherLayoutTest, InnerAxes) {
  for (const int width : {1, 2, 4, 8, 16}) {
    for (const std::int64_t count : {1, 3, 127, 128, 256, 1030}) {
      for (const std::int64_t outer : {2, 5, 16, 37}) {
        SCOPED_TRACE("width " + std::to_string(width) + ", count " + std::to_string(count) +
                     ", outer " + std::to_string(outer));
        for (const gpukern_index_mode mode : kModes)
          check(bytes_dtype(width), {outer, 100}, kInt32.dtype, {count}, -1, mode,
                {0, 0, count % 2 * width});
      }
    }
  }
  for (const std::int64_t row : {3, 16, 50, 64, 200})
    check(bytes_dtype(2), {37, 30, row}, kInt64.dtype, {41}, 1, GPUKERN_INDEX_FILL);
}

TEST_P(GatherLayoutTest, ManyRowsOnAnInnerAxis) {
  for (const int width : {1, 2, 4, 8, 16}) {
    for (const std::int64_t bytes : {32, 64, 80, 1008, 33008}) {
      if (bytes > 1008 && width != 8) continue;
      const std::int64_t n = bytes / width;
      for (const std::int64_t count : {n / 4, n / 2, n - 1, 2 * n}) {
        const std::int64_t outer = between(random_, 264, bytes > 1008 ? 270 : 1100);
        SCOPED_TRACE("width " + std::to_string(width) + ", n " + std::to_string(n) + ", count " +
                     std::to_string(count) + ", outer " + std::to_string(outer));
        check(bytes_dtype(width), {outer, n}, kIndexTypes[count % 8 / 4 + 2].dtype, {count}, -1,
              kModes[outer % 4], {between(random_, 0, 17), count % 3 * 8, count % 2 * width});
      }
    }
  }
  // Index types of every width.
  for (const IndexType& type : kIndexTypes)
    check(bytes_dtype(4), {300, 100}, type.dtype, {131}, 1, GPUKERN_INDEX_FILL, {4, 1, 0});
}

TEST_P(GatherLayoutTest, ManyStridedRows) {
  for (const std::int64_t gap : {1, 3, 16}) {
    Tight source(placement(), bytes_dtype(2), {500, 50 + gap}, gap);
    source.shape[1] = 50;
    Tight index(placement(), kInt32.dtype, {60}, 0);
    Tight out(placement(), bytes_dtype(2), {500, 60}, 1);
    fill_random(source.storage.host, random_);
    fill_indices(index, random_, 50);
    expect_gather({source, index, 1, GPUKERN_INDEX_RAISE, out}, placement());
    std::swap(source.shape[0], source.shape[1]);  // columns, from the last row up
    std::swap(source.strides[0], source.strides[1]);
    source.offset += 499 * (50 + gap) * source.item();
    source.strides[1] *= -1;
    Tight columns(placement(), bytes_dtype(2), {60, 500}, 0);
    expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, columns}, placement());
  }
}

TEST_P(GatherLayoutTest, FewPositionsOnAnInnerAxis) {
  for (const std::int64_t count : {1, 2, 3, 7})
    for (const std::int64_t row : {1, 4, 5, 60})
      check(bytes_dtype(4), {5000, 3, row}, kInt64.dtype, {count}, 1, GPUKERN_INDEX_RAISE);
}

TEST_P(GatherLayoutTest, LongRows) {
  check(bytes_dtype(4), {5, 300001}, kInt32.dtype, {7}, 0, GPUKERN_INDEX_RAISE);
  check(bytes_dtype(1), {5, 300001}, kInt32.dtype, {7}, 0, GPUKERN_INDEX_FILL);
  check(bytes_dtype(1), {2, 3, 70001}, kInt32.dtype, {5}, 1, GPUKERN_INDEX_WRAP, {1, 0, 2});
}

TEST_P(GatherLayoutTest, TheFirstBadIndexAtEveryAlignment) {
  for (const IndexType& type : kIndexTypes) {
    const std::int64_t bytes = type.dtype.bits / 8;
    for (const std::int64_t count : {1, 2, 15, 16, 17, 100, 70003}) {
      for (const std::int64_t skip : {0, 1, 5, 15}) {
        SCOPED_TRACE(std::string(type.name) + ", count " + std::to_string(count) + ", skip " +
                     std::to_string(skip));
        Array source(placement(), bytes_dtype(4), {100});
        Tight index(placement(), type.dtype, {count}, skip * bytes);
        Array out(placement(), bytes_dtype(4), {count});
        fill_indices(index, random_, 100);
        const Gather call{source, index, 0, GPUKERN_INDEX_RAISE, out};
        expect_gather(call, placement());
        for (int bad = 0; bad < 3; ++bad) {
          const std::int64_t at = between(random_, 0, count - 1);
          store_index(index.storage.host, (skip + at) * bytes, type.dtype,
                      bad == 1 && type.lowest < 0 ? Wide{-101} : Wide{100 + bad});
          expect_gather(call, placement());
        }
      }
    }
  }
}

GPUKERN_INSTANTIATE_PLACEMENTS(GatherLayoutTest);

}  // namespace
}  // namespace gpukern_test

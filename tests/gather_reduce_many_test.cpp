// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Many short bags on a GPU, of whose rows a thread has two vectors: are_many_short_bags() in
// cuda/gather_reduce/gather_reduce.cu.

#include "bag_oracle.hpp"
#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr gpukern_dtype kFloat16 = kReducedDtypes[0];
constexpr gpukern_dtype kBFloat16 = kReducedDtypes[1];

View columns_of(View rows, std::int64_t first, std::int64_t count) {
  rows.offset += first * rows.item();
  rows.shape.back() = count;
  return rows;
}

class GatherReduceManyTest : public GpuTest {
 protected:
  /// Of rows of `pitch` elements, the columns from `first` on.
  struct Rows {
    std::int64_t columns;
    std::int64_t pitch;
    std::int64_t first = 0;
  };

  /// Bags of up to two items, and a long one: enough of them for 195 multiprocessors.
  std::vector<std::int64_t> short_bags(std::int64_t columns) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(1600000 / columns));
    for (auto& length : lengths) length = between(random_, 0, 2);
    lengths[19] = 3000;
    return lengths;
  }

  void check_bags(gpukern_dtype dtype, std::int64_t columns, gpukern_gather_reduce_options options,
                  bool weighted = false, std::int64_t batch = 1) {
    check(dtype, {columns, columns}, {columns, columns}, options, {weighted, true}, batch);
  }

  struct Kind {
    bool weighted;
    bool indexed;
  };

  void check(gpukern_dtype dtype, const Rows& from, const Rows& to,
             gpukern_gather_reduce_options options, Kind kind, std::int64_t batch = 1) {
    constexpr std::int64_t kSize = 5000;
    const std::vector<std::int64_t> lengths = short_bags(batch * to.columns);
    const auto bags = static_cast<std::int64_t>(lengths.size());
    const std::int64_t items = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{3});
    const std::int64_t size = kind.indexed ? kSize : items;
    Array source(Placement::Cuda, dtype, {batch, size, from.pitch});
    Array index(Placement::Cuda, kInt32.dtype, {items});
    Array weights(Placement::Cuda, dtype, {items});
    Array offsets(Placement::Cuda, kInt64.dtype, {bags + 1});
    Array out(Placement::Cuda, dtype, {batch, bags, to.pitch});
    fill_numbers(source, random_, true);
    fill_numbers(weights, random_, true);
    fill_random(out.storage.host, random_);
    fill_indices(index, random_, size, options.mode == GPUKERN_INDEX_RAISE ? 0 : size);
    store_offsets(offsets, lengths, 2);
    expect_bags(
        {columns_of(source, from.first, from.columns), kind.indexed ? &index : nullptr, offsets,
         kind.weighted ? &weights : nullptr, 1, options, columns_of(out, to.first, to.columns)},
        Placement::Cuda);
  }

  Random random_{20261130};
};

TEST_F(GatherReduceManyTest, EveryDtypeAndReduction) {
  for (const gpukern_dtype dtype : {kFloat16, kBFloat16, kFloat32, kFloat64})
    for (const gpukern_reduce reduce : kBagReductions)
      check_bags(dtype, 32, bag_options(GPUKERN_INDEX_FILL, reduce));
}

TEST_F(GatherReduceManyTest, RowsOfSomeLengths) {
  // One thread or two of each bag; no pairs of vectors; several groups of threads.
  for (const std::int64_t columns : {8, 16, 36, 320})
    check_bags(kFloat32, columns, bag_options(GPUKERN_INDEX_RAISE), true);
}

TEST_F(GatherReduceManyTest, ABatchOfRows) {
  check_bags(kFloat32, 32, bag_options(GPUKERN_INDEX_CLIP, GPUKERN_REDUCE_MEAN), false, 4);
}

TEST_F(GatherReduceManyTest, RowsAlignedToOneVector) {
  for (const gpukern_dtype dtype : {kFloat16, kBFloat16})
    for (const Rows& rows : {Rows{32, 36}, Rows{32, 40, 4}})
      for (const bool indexed : {false, true}) {
        const auto options = bag_options(GPUKERN_INDEX_CLIP);
        check(dtype, rows, {32, 32}, options, {false, indexed});
        check(dtype, {32, 32}, rows, options, {false, indexed});
      }
}

TEST_F(GatherReduceManyTest, Segments) {
  for (const gpukern_dtype dtype : {kFloat16, kBFloat16, kFloat32, kFloat64})
    check(dtype, {32, 32}, {32, 32}, bag_options(GPUKERN_INDEX_CLIP), {false, false});
}

}  // namespace
}  // namespace gpukern_test

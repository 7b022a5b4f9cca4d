// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "bag_oracle.hpp"

namespace gpukern_test {
namespace {

struct Layouts {
  Layout source = Layout::Contiguous;
  Layout index = Layout::Contiguous;
  Layout out = Layout::Contiguous;
};

using Lengths = std::vector<std::int64_t>;

/// The number of bags and of items that they hold.
Lengths random_lengths(Random& random, std::int64_t bags, std::int64_t most) {
  Lengths lengths(static_cast<std::size_t>(bags));
  for (auto& length : lengths) length = between(random, 0, most);
  return lengths;
}

class GatherReduceTest : public PlacementTest {
 protected:
  /// Random data; indices reach out of bounds unless the mode is raise.
  void check(gpukern_dtype dtype, const Shape& shape, gpukern_dtype index_dtype,
             const Lengths& lengths, std::int32_t axis, gpukern_gather_reduce_options options,
             bool weighted = false, const Layouts& layouts = {}) {
    const std::int64_t items =
        std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) + 3;  // some in no bag
    const auto bags = static_cast<std::int64_t>(lengths.size());
    Array source(placement(), dtype, shape, layouts.source);
    Array index(placement(), index_dtype, {items}, layouts.index);
    Array weights(placement(), dtype, {items}, layouts.index);
    Array offsets(placement(), kInt64.dtype, {bags + 1},
                  layouts.index == Layout::Broadcast ? Layout::Strided : layouts.index);
    Array out(placement(), dtype, gather_shape(shape, {bags}, axis), layouts.out);
    const bool moderate = random_() % 2 == 0;
    fill_numbers(source, random_, moderate);
    fill_numbers(weights, random_, moderate);
    fill_random(out.storage.host, random_);
    store_offsets(offsets, lengths, 2);
    const std::int64_t size = split_at(shape, axis).size;
    fill_indices(index, random_, size, options.mode == GPUKERN_INDEX_RAISE ? 0 : 2 * size + 3);
    expect_bags({source, &index, offsets, weighted ? &weights : nullptr, axis, options, out},
                placement());
  }

  Random random_{20260501};
};

TEST_P(GatherReduceTest, EveryReductionOfEveryDtype) {
  for (const gpukern_dtype dtype : kReducedDtypes)
    for (const gpukern_reduce reduce : kBagReductions) {
      if (!has_reduction(dtype, reduce)) continue;
      SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
                   " bits, reduce " + std::to_string(reduce));
      // Several groups of threads share the row on a GPU.
      const std::int64_t long_row = dtype.bits >= 64 ? 260 : 140;
      for (const bool weighted : {false, true}) {
        if (weighted && reduce != GPUKERN_REDUCE_ADD) continue;
        for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_FILL})
          for (const Shape& shape : {Shape{50}, Shape{50, 3}, Shape{20, 16}, Shape{9, long_row}})
            // A GPU reduces fewer items of short rows in one launch.
            for (const Lengths& lengths : {Lengths{0, 1, 7, 300, 2, 0, 1500, 3},
                                           Lengths{300, 1, shape.back() > 50 ? 2000 : 9000}})
              check(dtype, shape, kInt64.dtype, lengths, 0, bag_options(mode, reduce), weighted);
      }
    }
}

TEST_P(GatherReduceTest, EveryIndexTypeInEveryMode) {
  for (const IndexType& type : kIndexTypes)
    for (const gpukern_index_mode mode : kModes)
      for (const std::int64_t size : {1, 7, 100, 1000}) {
        SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode));
        check(kFloat32, {size, 4}, type.dtype, {3, 0, 64, 300}, 0, bag_options(mode));
      }
}

TEST_P(GatherReduceTest, BagsOfEveryLength) {
  for (const std::int64_t length : {0, 1, 2, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2000,
                                    4000, 16383, 16384, 16385, 70000})
    for (const std::int64_t row : {1, 3, 8, 64}) {
      SCOPED_TRACE("length " + std::to_string(length) + ", row " + std::to_string(row));
      if (length * row > 300000) continue;
      check(kFloat32, {40, row}, kInt32.dtype, {1, length, 2}, 0, bag_options(GPUKERN_INDEX_RAISE));
      check(kReducedDtypes[0], {40, row}, kInt32.dtype, {length, length}, 0,
            bag_options(GPUKERN_INDEX_FILL, GPUKERN_REDUCE_MEAN), false);
      check(kFloat64, {40, row}, kInt32.dtype, {length}, 0, bag_options(GPUKERN_INDEX_WRAP), true);
      check(kFloat32, {40, row}, kInt32.dtype, {length, 0}, 0, bag_options(GPUKERN_INDEX_CLIP));
    }
}

TEST_P(GatherReduceTest, BagsOfManyLengths) {
  for (const std::int64_t row : {1, 2, 16, 33, 64}) {
    for (const gpukern_index_mode mode : kModes)
      check(kFloat32, {300, row}, kInt64.dtype, random_lengths(random_, 100, 30), 0,
            bag_options(mode, GPUKERN_REDUCE_MEAN));
    Lengths lengths = random_lengths(random_, 500, 40);
    check(kFloat32, {300, row}, kInt64.dtype, lengths, 0, bag_options(GPUKERN_INDEX_RAISE));
    lengths[7] = 5000;
    lengths[8] = 1300;
    lengths[499] = 2600;
    check(kFloat32, {300, row}, kInt64.dtype, lengths, 0, bag_options(GPUKERN_INDEX_RAISE), true);
    check(kFloat32, {300, row}, kInt32.dtype, Lengths(20, 1100), 0,
          bag_options(GPUKERN_INDEX_CLIP, GPUKERN_REDUCE_MAX));
  }
}

TEST_P(GatherReduceTest, RowsOfEveryLength) {
  for (const std::int64_t row : {1, 2, 3, 15, 16, 17, 33, 64, 127, 128, 129, 255, 256, 257, 1000})
    for (const Layout layout : {Layout::Contiguous, Layout::Unaligned}) {
      SCOPED_TRACE("row " + std::to_string(row));
      for (const gpukern_dtype dtype : {kReducedDtypes[0], kFloat32, kFloat64, kReducedDtypes[4]})
        check(dtype, {50, row}, kInt64.dtype, {4, 0, 1, 20, 300}, 0,
              bag_options(GPUKERN_INDEX_RAISE), false, {layout, Layout::Contiguous, layout});
    }
}

TEST_P(GatherReduceTest, EveryAxis) {
  for (const std::int32_t axis : {-4, -3, -2, -1, 0, 1, 2, 3, GPUKERN_AXIS_NONE})
    for (const Lengths& lengths : {Lengths{2, 0, 5}, Lengths{}, Lengths{0}, Lengths{1200, 3}})
      for (const gpukern_index_mode mode : kModes) {
        SCOPED_TRACE("axis " + std::to_string(axis) + ", mode " + std::to_string(mode));
        check(kFloat64, {3, 4, 5, 6}, kInt32.dtype, lengths, axis, bag_options(mode));
      }
}

TEST_P(GatherReduceTest, EveryLayout) {
  for (const Layout source : kInputLayouts)
    for (const Layout index : kInputLayouts)
      for (const Layout out : kOutputLayouts)
        for (const gpukern_dtype dtype : {kFloat32, kReducedDtypes[1], kReducedDtypes[13]}) {
          SCOPED_TRACE("layouts " + std::to_string(static_cast<int>(source)) + ", " +
                       std::to_string(static_cast<int>(index)) + ", " +
                       std::to_string(static_cast<int>(out)));
          check(dtype, {5, 9, 6}, kInt64.dtype, {4, 3, 0, 270}, 1, bag_options(GPUKERN_INDEX_WRAP),
                true, {source, index, out});
          check(dtype, {5, 9, 6}, kInt32.dtype, {11, 3}, GPUKERN_AXIS_NONE,
                bag_options(GPUKERN_INDEX_FILL), false, {source, index, out});
        }
}

TEST_P(GatherReduceTest, BadOffsets) {
  using Numbers = std::vector<Wide>;
  const Wide most = INT64_MAX;
  for (const IndexType& type : kIndexTypes)
    for (const gpukern_index_mode mode : kModes)
      for (const Numbers& numbers :
           {Numbers{0, 5, 4, 10}, Numbers{-1, 5, 10}, Numbers{0, 5, 11}, Numbers{11, 11},
            Numbers{0, 2000, 0, 2000, 0, 2000, 0, 2000}, Numbers{0, 1500, 900, 2000},
            Numbers{0, 10}, Numbers{10, 0}, Numbers{3}, Numbers{-1}, Numbers{most, -most},
            Numbers{0, 2 * most + 1, 1}}) {
        const std::int64_t items = numbers.back() == 2000 ? 2000 : 10;
        SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode));
        Array source(placement(), kFloat32, {20, 5});
        Array index(placement(), kInt32.dtype, {items});
        Array offsets(placement(), type.dtype, {static_cast<std::int64_t>(numbers.size())});
        Array out(placement(), kFloat32, {static_cast<std::int64_t>(numbers.size()) - 1, 5});
        fill_numbers(source, random_, true);
        fill_indices(index, random_, 20);
        const auto places = offsets.offsets();
        for (std::size_t k = 0; k < numbers.size(); ++k)
          store_index(offsets.storage.host, places[k], type.dtype, numbers[k]);
        expect_bags({source, &index, offsets, nullptr, 0, bag_options(mode), out}, placement());
        if (mode == GPUKERN_INDEX_RAISE || mode == GPUKERN_INDEX_CLIP)
          expect_bags({source, nullptr, offsets, nullptr, 0, bag_options(mode), out}, placement());
      }
}

TEST_P(GatherReduceTest, BadIndices) {
  for (const std::int64_t bad : {-21, 20, 1000}) {
    Array source(placement(), kFloat32, {20, 5});
    Array index(placement(), kInt32.dtype, {3000});
    Array offsets(placement(), kInt64.dtype, {3});
    Array out(placement(), kFloat32, {2, 5});
    fill_numbers(source, random_, true);
    fill_random(out.storage.host, random_);
    fill_indices(index, random_, 20);
    store_offsets(offsets, {5, 10});
    store_index(index.storage.host, index.offsets()[2000], kInt32.dtype, bad);  // in no bag
    for (const gpukern_index_mode mode : kModes)
      expect_bags({source, &index, offsets, nullptr, 0, bag_options(mode), out}, placement());
  }
}

TEST_P(GatherReduceTest, EmptyAndScalarArguments) {
  for (const gpukern_index_mode mode : kModes)
    for (const gpukern_reduce reduce : kBagReductions) {
      const auto options = bag_options(mode, reduce);
      for (const std::int32_t axis : {0, -1, GPUKERN_AXIS_NONE}) {
        check(kFloat64, {}, kInt64.dtype, {3, 0, 1}, axis, options);
        check(kFloat64, {5, 0}, kInt64.dtype, {3, 0, 1}, 0, options);
      }
      for (const std::int64_t items : {0, 4}) {
        Array source(placement(), kFloat32, {0, 3});
        Array index(placement(), kInt32.dtype, {items});
        Array offsets(placement(), kInt32.dtype, {3});
        Array out(placement(), kFloat32, {2, 3});
        fill_random(out.storage.host, random_);
        store_offsets(offsets, {0, 0});
        expect_bags({source, &index, offsets, nullptr, 0, options, out}, placement());
      }
    }
}

TEST_P(GatherReduceTest, OutMayOverlap) {
  for (const std::int64_t shift : {-40, -4, 0, 4, 40}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    Array room(placement(), kFloat32, {6100});
    Array index(placement(), kInt32.dtype, {3000});
    Array offsets(placement(), kInt64.dtype, {1001});
    fill_numbers(room, random_, true);
    fill_indices(index, random_, 3000);
    store_offsets(offsets, Lengths(1000, 3));
    const View source{&room.storage, kFloat32, {3000}, {1}, kGuard + 40};
    const View out{&room.storage, kFloat32, {1000}, {1}, kGuard + 40 + shift};
    expect_bags({source, &index, offsets, nullptr, 0, bag_options(GPUKERN_INDEX_RAISE), out},
                placement());
    const View into_offsets{&offsets.storage, kReducedDtypes[7], {1000}, {1}, kGuard + shift};
    Array numbers(placement(), kReducedDtypes[7], {3000});
    fill_numbers(numbers, random_, true);
    expect_bags(
        {numbers, &index, offsets, nullptr, 0, bag_options(GPUKERN_INDEX_WRAP), into_offsets},
        placement());
  }
}

// More columns than items of a bag: results are written in front of the items that are read.
TEST_P(GatherReduceTest, OutMayOverlapWeightsAndIndex) {
  constexpr std::int64_t kBags = 700;
  for (const std::int64_t shift : {-40, -8, 0, 8, 40}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    Array source(placement(), kInt64.dtype, {3000, 4});
    Array index(placement(), kInt64.dtype, {3 * kBags});
    Array weights(placement(), kInt64.dtype, {4 * kBags});
    Array offsets(placement(), kInt64.dtype, {kBags + 1});
    fill_numbers(source, random_, true);
    store_offsets(offsets, Lengths(kBags, 3));
    const auto options = bag_options(GPUKERN_INDEX_RAISE);
    Array room(placement(), kInt64.dtype, {4 * kBags + 8});
    const View in_room{&room.storage, kInt64.dtype, {3 * kBags}, {1}, kGuard + 40};
    const View out{&room.storage, kInt64.dtype, {kBags, 4}, {4, 1}, kGuard + 40 + shift};
    for (const bool over_weights : {true, false}) {
      View at = over_weights ? static_cast<const View&>(index) : in_room;
      View factors = over_weights ? in_room : static_cast<const View&>(weights);
      factors.shape = {3 * kBags};
      fill_numbers(factors, random_, true);
      fill_indices(at, random_, 3000);
      expect_bags({source, &at, offsets, &factors, 0, options, out}, placement());
    }
  }
}

TEST_P(GatherReduceTest, MoreItemsThanMemoryCanSum) {
  if (placement() != Placement::Cpu) GTEST_SKIP() << "the sums in the CPU's memory";
  constexpr std::int64_t kItems = std::int64_t{1} << 62;
  Array source(placement(), kFloat32, {1, 16384});
  Array number(placement(), kIndexTypes[0].dtype, {1});
  Array offsets(placement(), kInt64.dtype, {2});
  Array out(placement(), kFloat32, {1, 16384});
  store_offsets(offsets, {kItems});
  const View index{&number.storage, kIndexTypes[0].dtype, {kItems}, {0}, number.offset};
  const BagCall call{source, &index, offsets, nullptr, 0, bag_options(GPUKERN_INDEX_CLIP), out};
  for (Memory* memory : {source.memory, number.memory, offsets.memory, out.memory})
    memory->commit();
  EXPECT_EQ(call.run(exec_at(placement())), GPUKERN_MEMORY_ERROR) << gpukern_last_error();
}

TEST_P(GatherReduceTest, ManyItems) {
  Lengths lengths = random_lengths(random_, 20000, 20);
  check(kFloat32, {10007, 4}, kInt64.dtype, lengths, 0, bag_options(GPUKERN_INDEX_RAISE));
  lengths[19] = 300000;
  lengths[20] = 16385;
  check(kFloat32, {10007}, kInt32.dtype, lengths, 0, bag_options(GPUKERN_INDEX_FILL));
}

TEST_P(GatherReduceTest, RandomCalls) {
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Shape shape(static_cast<std::size_t>(between(random_, 1, 4)));
    for (auto& size : shape) size = between(random_, 1, 9);
    const auto ndim = static_cast<std::int64_t>(shape.size());
    const auto axis = between(random_, -ndim, ndim) == ndim
                          ? GPUKERN_AXIS_NONE
                          : static_cast<std::int32_t>(between(random_, -ndim, ndim - 1));
    const gpukern_reduce reduce = kBagReductions[random_() % std::size(kBagReductions)];
    gpukern_dtype dtype = kReducedDtypes[random_() % std::size(kReducedDtypes)];
    if (!has_reduction(dtype, reduce)) dtype = kFloat32;
    const std::int64_t most = random_() % 8 == 0 ? 1500 : 12;
    check(dtype, shape, kIndexTypes[random_() % std::size(kIndexTypes)].dtype,
          random_lengths(random_, between(random_, 0, 9), most), axis,
          bag_options(kModes[random_() % std::size(kModes)], reduce),
          reduce == GPUKERN_REDUCE_ADD && random_() % 2 == 0,
          {kInputLayouts[random_() % std::size(kInputLayouts)],
           kInputLayouts[random_() % std::size(kInputLayouts)],
           kOutputLayouts[random_() % std::size(kOutputLayouts)]});
  }
}

GPUKERN_INSTANTIATE_PLACEMENTS(GatherReduceTest);

}  // namespace
}  // namespace gpukern_test

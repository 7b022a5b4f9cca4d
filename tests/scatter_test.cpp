// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Results of scatter; scatter_duplicates_test.cpp tests more of indices that repeat.
// scatter_error_test.cpp tests its errors, and that it writes nothing else.

#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

struct Layouts {
  Layout target = Layout::Contiguous;
  Layout index = Layout::Contiguous;
  Layout values = Layout::Contiguous;
};

class ScatterTest : public PlacementTest {
 protected:
  /// Random data; indices reach out of bounds unless the mode is raise.
  void check(gpukern_dtype dtype, const Shape& target_shape, gpukern_dtype index_dtype,
             const Shape& index_shape, std::int32_t axis, gpukern_scatter_options options,
             const Layouts& layouts = {}) {
    Array target(placement(), dtype, target_shape, layouts.target);
    Array index(placement(), index_dtype, index_shape, layouts.index);
    Array values(placement(), dtype, update_shape(false, target_shape, index_shape, axis),
                 layouts.values);
    const bool moderate = random_() % 2 == 0;
    fill_numbers(target, random_, moderate);
    fill_numbers(values, random_, moderate);
    const std::int64_t size = split_at(target_shape, axis).size;
    fill_indices(index, random_, size, options.mode == GPUKERN_INDEX_RAISE ? 0 : 2 * size + 3);
    expect_scatter({false, target, index, values, axis, options}, placement());
  }

  Random random_{20260103};
};

TEST_P(ScatterTest, EveryWidthAtEverySize) {
  for (const int width : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 100, 4096})
    for (const std::int64_t size : {0, 1, 31, 33, 4096, 70001}) {
      if (size * width > 1 << 20) continue;
      SCOPED_TRACE("width " + std::to_string(width) + ", size " + std::to_string(size));
      check(bytes_dtype(width), {257}, kInt64.dtype, {size}, 0,
            scatter_options(GPUKERN_INDEX_RAISE));
    }
}

TEST_P(ScatterTest, EveryIndexTypeInEveryMode) {
  for (const IndexType& type : kIndexTypes)
    for (const gpukern_index_mode mode : kModes)
      for (const std::int64_t size : {1, 7, 100, 1000}) {
        SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode));
        check(bytes_dtype(4), {size}, type.dtype, {65}, 0, scatter_options(mode));
        check(kFloat32, {size}, type.dtype, {65}, 0, scatter_options(mode, GPUKERN_REDUCE_ADD));
      }
}

TEST_P(ScatterTest, EveryIndexTypeAtItsLimits) {
  for (const IndexType& type : kIndexTypes)
    for (const gpukern_index_mode mode :
         {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL}) {
      SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode));
      Array target(placement(), kFloat32, {7});
      Array index(placement(), type.dtype, {6});
      Array values(placement(), kFloat32, {6});
      fill_random(values.storage.host, random_);
      const auto offsets = index.offsets();
      const Wide numbers[] = {type.lowest,      type.lowest + 1,      type.highest,
                              type.highest - 1, type.highest / 2 + 1, type.highest / 2};
      for (std::size_t k = 0; k < offsets.size(); ++k)
        store_index(index.storage.host, offsets[k], type.dtype, numbers[k]);
      expect_scatter({false, target, index, values, 0, scatter_options(mode)}, placement());
    }
}

TEST_P(ScatterTest, EveryReductionOfEveryDtype) {
  for (const gpukern_dtype dtype : kReducedDtypes)
    for (const gpukern_reduce reduce : kReductions) {
      if (!has_reduction(dtype, reduce)) continue;
      SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
                   " bits, reduce " + std::to_string(reduce));
      for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_FILL}) {
        check(dtype, {100}, kInt64.dtype, {1000}, 0, scatter_options(mode, reduce));
        check(dtype, {3}, kInt32.dtype, {3000}, 0, scatter_options(mode, reduce));
        check(dtype, {10, 7}, kInt64.dtype, {600}, 0, scatter_options(mode, reduce));
        check(dtype, {4, 9, 2}, kInt32.dtype, {50, 3}, 1, scatter_options(mode, reduce));
      }
      check(dtype, {70}, kInt64.dtype, {5000}, 0, scatter_options(GPUKERN_INDEX_CLIP, reduce));
      // GPUs have a hash table for more than 16384 updates, and sort many.
      check(dtype, {70}, kInt64.dtype, {20000}, 0, scatter_options(GPUKERN_INDEX_CLIP, reduce));
      check(dtype, {90, 3}, kInt64.dtype, {20000}, 0, scatter_options(GPUKERN_INDEX_WRAP, reduce));
      check(dtype, {30000}, kInt32.dtype, {131073}, 0, scatter_options(GPUKERN_INDEX_WRAP, reduce));
      check(dtype, {300, 2}, kInt32.dtype, {131073}, 0,
            scatter_options(GPUKERN_INDEX_FILL, reduce));
    }
}

TEST_P(ScatterTest, EveryAxisAndIndexShape) {
  for (const std::int32_t axis : {-4, -3, -2, -1, 0, 1, 2, 3, GPUKERN_AXIS_NONE})
    for (const Shape& index_shape : {Shape{}, Shape{7}, Shape{2, 3}, Shape{0}, Shape{1, 0, 2}})
      for (const gpukern_index_mode mode : kModes) {
        SCOPED_TRACE("axis " + std::to_string(axis) + ", mode " + std::to_string(mode) +
                     ", index of " + std::to_string(index_shape.size()) + " dimensions");
        check(bytes_dtype(8), {3, 4, 5, 6}, kInt32.dtype, index_shape, axis, scatter_options(mode));
        check(kFloat64, {3, 4, 5, 6}, kInt32.dtype, index_shape, axis,
              scatter_options(mode, GPUKERN_REDUCE_ADD));
      }
}

// Each pair of layouts, as a Latin square: all triples would take minutes on a GPU.
TEST_P(ScatterTest, EveryLayout) {
  for (std::size_t t = 0; t < std::size(kOutputLayouts); ++t)
    for (std::size_t i = 0; i < std::size(kInputLayouts); ++i) {
      const std::size_t v = (t + i) % std::size(kInputLayouts);
      const Layouts layouts{kOutputLayouts[t], kInputLayouts[i], kInputLayouts[v]};
      SCOPED_TRACE("layouts " + std::to_string(t) + ", " + std::to_string(i) + ", " +
                   std::to_string(v));
      for (const int width : {1, 4, 6, 16})
        check(bytes_dtype(width), {5, 9, 6}, kInt64.dtype, {4, 3}, 1,
              scatter_options(GPUKERN_INDEX_RAISE), layouts);
      for (const gpukern_dtype dtype : {kFloat32, kReducedDtypes[1], kReducedDtypes[13]})
        check(dtype, {5, 9, 6}, kInt64.dtype, {4, 3}, 1,
              scatter_options(GPUKERN_INDEX_WRAP, GPUKERN_REDUCE_ADD), layouts);
      check(kFloat32, {5, 9, 6}, kInt32.dtype, {11, 3}, GPUKERN_AXIS_NONE,
            scatter_options(GPUKERN_INDEX_FILL, GPUKERN_REDUCE_MAX), layouts);
    }
}

TEST_P(ScatterTest, RowsOfEveryLength) {
  for (const std::int64_t row : {1, 2, 3, 15, 16, 17, 33, 64, 1000, 5000})
    for (const Layout layout : {Layout::Contiguous, Layout::Unaligned}) {
      SCOPED_TRACE("row " + std::to_string(row));
      check(bytes_dtype(4), {50, row}, kInt64.dtype, {65}, 0, scatter_options(GPUKERN_INDEX_RAISE),
            {layout, Layout::Contiguous, layout});
      check(bytes_dtype(1), {50, row}, kInt64.dtype, {65}, 0, scatter_options(GPUKERN_INDEX_FILL),
            {layout, Layout::Contiguous, Layout::Contiguous});
      check(kFloat32, {50, row}, kInt64.dtype, {65}, 0,
            scatter_options(GPUKERN_INDEX_RAISE, GPUKERN_REDUCE_ADD),
            {layout, Layout::Contiguous, layout});
    }
}

TEST_P(ScatterTest, ManyElements) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
    check(kFloat32, {1000003}, kInt32.dtype, {300001}, 0,
          scatter_options(GPUKERN_INDEX_RAISE, reduce));
    check(kReducedDtypes[0], {7001, 3}, kInt64.dtype, {70001}, 0,
          scatter_options(GPUKERN_INDEX_WRAP, reduce));
    check(kFloat64, {3, 70001}, kInt64.dtype, {40001}, 1,
          scatter_options(GPUKERN_INDEX_CLIP, reduce));
    // Indices that are not contiguous and aligned; elements with several blocks of values.
    for (const Layout layout : {Layout::Reversed, Layout::Unaligned})
      for (const IndexType& type : kIndexTypes)
        for (const Shape& shape : {Shape{5}, Shape{5, 3}})
          check(kFloat32, shape, type.dtype, {9001}, 0, scatter_options(GPUKERN_INDEX_WRAP, reduce),
                {Layout::Contiguous, layout, layout});
  }
}

// GPUs sort the updates of such a target, and find the last one of each key of others in a table.
TEST_P(ScatterTest, PutsToALargeTarget) {
  for (const auto& [width, mode] : {std::pair{1, GPUKERN_INDEX_CLIP},
                                    {2, GPUKERN_INDEX_FILL},
                                    {3, GPUKERN_INDEX_FILL},
                                    {8, GPUKERN_INDEX_WRAP}})
    for (const std::int64_t count : {1000, 30000}) {
      SCOPED_TRACE("width " + std::to_string(width) + ", " + std::to_string(count) + " updates");
      Array target(placement(), bytes_dtype(width), {9 << 20});
      Array index(placement(), kInt32.dtype, {count});
      Array values(placement(), bytes_dtype(width), {count});
      fill_random(values.storage.host, random_);
      for (std::int64_t k = 0; k < count; ++k)
        store(index.storage.host, kGuard + 4 * k,
              static_cast<std::int32_t>(k % 2 == 0 ? between(random_, -10, (9 << 20) + 10)
                                                   : between(random_, 0, 99)));
      expect_scatter({false, target, index, values, 0, scatter_options(mode)}, placement());
    }
}

// With several threads, each has a table of the keys, which are few.
TEST_P(ScatterTest, ManyUpdatesOfFewKeys) {
  EXPECT_EQ(gpukern_set_num_threads(4), GPUKERN_SUCCESS);
  for (const auto& [keys, count] : {std::pair<std::int64_t, std::int64_t>{1, 70000},
                                    {7, 65537},
                                    {1000, 90001},
                                    {30000, 120000}})
    for (const gpukern_index_mode mode : kModes)
      for (const Layout layout : {Layout::Contiguous, Layout::Reversed}) {
        SCOPED_TRACE(std::to_string(keys) + " keys, mode " + std::to_string(mode));
        const Layouts layouts{layout, layout, layout};
        check(bytes_dtype(4), {keys}, kInt64.dtype, {count}, 0, scatter_options(mode), layouts);
        check(bytes_dtype(3), {keys, 2}, kInt32.dtype, {count}, 0, scatter_options(mode), layouts);
        for (const Shape& shape : {Shape{keys}, Shape{keys, 3}})
          check(kReducedDtypes[7], shape, kInt64.dtype, {count}, 0,
                scatter_options(mode, GPUKERN_REDUCE_ADD), layouts);
      }
  for (const gpukern_reduce reduce :
       {GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MULTIPLY, GPUKERN_REDUCE_MIN, GPUKERN_REDUCE_MAX}) {
    for (const std::size_t dtype : {4U, 9U, 6U, 11U})
      check(kReducedDtypes[dtype], {3, 50}, kInt64.dtype, {70000}, 1,
            scatter_options(GPUKERN_INDEX_WRAP, reduce));
    check(kFloat32, {50}, kInt64.dtype, {70000}, 0, scatter_options(GPUKERN_INDEX_WRAP, reduce));
  }
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

// With several threads, each has a range of the keys.
TEST_P(ScatterTest, ManyUpdatesOfManyKeys) {
  if (placement() != Placement::Cpu) GTEST_SKIP() << "threads of the CPU";
  constexpr std::int64_t kCount = 140001;
  for (const int threads : {2, 20}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    EXPECT_EQ(gpukern_set_num_threads(threads), GPUKERN_SUCCESS);
    for (const gpukern_index_mode mode : kModes) {
      check(kFloat32, {2000003}, kInt64.dtype, {kCount}, 0,
            scatter_options(mode, GPUKERN_REDUCE_ADD));
      check(kFloat32, {7, 20001}, kInt64.dtype, {50001}, 1,
            scatter_options(mode, GPUKERN_REDUCE_MULTIPLY));
      check(kFloat32, {20001, 3}, kInt32.dtype, {50001}, 0, scatter_options(mode),
            {Layout::Reversed, Layout::Reversed, Layout::Reversed});
    }
    check(kInt64.dtype, {5000003}, kInt32.dtype, {kCount}, 0, scatter_options(GPUKERN_INDEX_FILL));
  }
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

TEST_P(ScatterTest, ValuesBroadcast) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD})
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{6}, Shape{11, 1}, Shape{11, 6}, Shape{1, 6},
                               Shape{4, 1, 1}, Shape{4, 1, 6}, Shape{1, 11, 1}}) {
      Array target(placement(), kFloat32, {4, 5, 6});
      Array index(placement(), kInt64.dtype, {11});
      Array values(placement(), kFloat32, shape);
      fill_numbers(target, random_, true);
      fill_numbers(values, random_, true);
      fill_indices(index, random_, 5);
      expect_scatter(
          {false, target, index, values, 1, scatter_options(GPUKERN_INDEX_RAISE, reduce)},
          placement());
    }
}

TEST_P(ScatterTest, UniqueIndices) {
  for (const std::int64_t count : {10, 3000, 60000})
    for (const gpukern_reduce reduce : kReductions) {
      Array target(placement(), kFloat32, {count + 100});
      Array index(placement(), kInt32.dtype, {count});
      Array values(placement(), kFloat32, {count});
      fill_numbers(target, random_, true);
      fill_numbers(values, random_, true);
      std::vector<std::int32_t> numbers(static_cast<std::size_t>(count + 100));
      std::iota(numbers.begin(), numbers.end(), 0);
      std::shuffle(numbers.begin(), numbers.end(), random_);
      std::memcpy(&index.storage.host[kGuard], numbers.data(), static_cast<std::size_t>(count) * 4);
      gpukern_scatter_options options = scatter_options(GPUKERN_INDEX_WRAP, reduce);
      options.unique = 1;
      expect_scatter({false, target, index, values, 0, options}, placement());
      options.unique = 0;
      options.order = GPUKERN_ORDER_ANY;  // one value has but one order
      expect_scatter({false, target, index, values, 0, options}, placement());
    }
}

TEST_P(ScatterTest, OutIsACopyOfTheTarget) {
  for (const Layout layout : kOutputLayouts)
    for (const std::int64_t count : {0, 5, 5000}) {
      Array target(placement(), kFloat32, {40, 3}, Layout::Fortran);
      Array out(placement(), kFloat32, {40, 3}, layout);
      Array index(placement(), kInt64.dtype, {count});
      Array values(placement(), kFloat32, {count, 3});
      for (View* view :
           {static_cast<View*>(&target), static_cast<View*>(&out), static_cast<View*>(&values)})
        fill_numbers(*view, random_, true);
      fill_indices(index, random_, 40, 10);
      expect_scatter({false, target, index, values, 0,
                      scatter_options(GPUKERN_INDEX_FILL, GPUKERN_REDUCE_ADD), &out},
                     placement());
    }
}

TEST_P(ScatterTest, ArgumentsMayOverlap) {
  for (const std::int64_t shift : {-40, -4, 0, 4, 40}) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    const auto options = scatter_options(GPUKERN_INDEX_RAISE, GPUKERN_REDUCE_ADD);
    Array room(placement(), kFloat32, {6100});
    Array index(placement(), kInt32.dtype, {3000});
    fill_numbers(room, random_, true);
    fill_indices(index, random_, 3000);
    const View target{&room.storage, kFloat32, {3000}, {1}, kGuard + 40};
    const View other{&room.storage, kFloat32, {3000}, {1}, kGuard + 40 + shift};
    const Array apart(placement(), kFloat32, {3000});
    expect_scatter({false, target, index, other, 0, options}, placement());
    expect_scatter({false, target, index, apart, 0, options, &other}, placement());
    const View same_numbers{&index.storage, kInt32.dtype, {2900}, {1}, kGuard + 40};
    const View into_index{&index.storage, kInt32.dtype, {2900}, {1}, kGuard + 40 + shift};
    const auto wrap = scatter_options(GPUKERN_INDEX_WRAP);
    expect_scatter({false, into_index, same_numbers, same_numbers, 0, wrap}, placement());
  }
}

// Blocks of indices are read while those before them write.
TEST_P(ScatterTest, AnIndexOfManyUpdatesMayOverlap) {
  constexpr std::int64_t kCount = 60'000;
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
    Array room(placement(), kInt32.dtype, {kCount + 100});
    Array numbers(placement(), kInt32.dtype, {kCount});
    fill_indices(room, random_, kCount);
    fill_numbers(numbers, random_, true);
    const View index{&room.storage, kInt32.dtype, {kCount}, {1}, kGuard};
    const View target{&room.storage, kInt32.dtype, {kCount}, {1}, kGuard + 400};
    const auto options = scatter_options(GPUKERN_INDEX_WRAP, reduce);
    expect_scatter({false, target, index, numbers, 0, options}, placement());
  }
}

TEST_P(ScatterTest, EmptyAndScalarTargets) {
  for (const gpukern_index_mode mode : kModes) {
    check(bytes_dtype(4), {0, 3}, kInt64.dtype, {0}, 0, scatter_options(mode));
    check(bytes_dtype(4), {3, 0}, kInt64.dtype, {2, 0}, 1, scatter_options(mode));
    check(bytes_dtype(4), {4, 0}, kInt64.dtype, {2}, 0, scatter_options(mode));
    for (const std::int32_t axis : {0, -1, GPUKERN_AXIS_NONE})
      for (const Shape& shape : {Shape{}, Shape{5}, Shape{0}})
        check(kFloat64, {}, kInt64.dtype, shape, axis, scatter_options(mode, GPUKERN_REDUCE_ADD));
  }
}

TEST_P(ScatterTest, ManyDimensions) {
  Shape target(GPUKERN_MAX_NDIM, 1);
  target[3] = 2;
  target[20] = 3;
  target[40] = 5;
  target[63] = 2;
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
    const auto options = scatter_options(GPUKERN_INDEX_RAISE, reduce);
    check(kFloat32, target, kInt32.dtype, {4}, 20, options, {Layout::Strided});
    check(kFloat32, target, kInt32.dtype, {}, 40, options);
    check(kFloat32, {7}, kInt32.dtype, Shape(GPUKERN_MAX_NDIM, 1), 0, options);
  }
}

TEST_P(ScatterTest, RandomCalls) {
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Shape target(static_cast<std::size_t>(between(random_, 1, 4)));
    for (auto& size : target) size = between(random_, 1, 9);
    Shape index(static_cast<std::size_t>(between(random_, 0, 3)));
    for (auto& size : index) size = between(random_, 0, 9);
    const auto ndim = static_cast<std::int64_t>(target.size());
    const auto axis = between(random_, -ndim, ndim) == ndim
                          ? GPUKERN_AXIS_NONE
                          : static_cast<std::int32_t>(between(random_, -ndim, ndim - 1));
    const gpukern_reduce reduce = kReductions[random_() % std::size(kReductions)];
    gpukern_dtype dtype = kReducedDtypes[random_() % std::size(kReducedDtypes)];
    if (!has_reduction(dtype, reduce)) dtype = kFloat32;
    if (reduce == GPUKERN_REDUCE_NONE)
      dtype = bytes_dtype(static_cast<int>(between(random_, 1, 40)));
    check(dtype, target, kIndexTypes[random_() % std::size(kIndexTypes)].dtype, index, axis,
          scatter_options(kModes[random_() % std::size(kModes)], reduce),
          {kOutputLayouts[random_() % std::size(kOutputLayouts)],
           kInputLayouts[random_() % std::size(kInputLayouts)],
           kInputLayouts[random_() % std::size(kInputLayouts)]});
  }
}

GPUKERN_INSTANTIATE_PLACEMENTS(ScatterTest);

}  // namespace
}  // namespace gpukern_test

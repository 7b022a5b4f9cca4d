// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// put_along_axis against its definition, for every placement.

#include <array>

#include "gpukern/gpukern.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

class PutAlongAxisTest : public PlacementTest {
 protected:
  /// Random data; indices reach out of bounds unless the mode is raise.
  void check(gpukern_dtype dtype, const Shape& target_shape, gpukern_dtype index_dtype,
             const Shape& index_shape, std::int32_t axis, gpukern_scatter_options options,
             const std::array<Layout, 3>& layouts = {}) {
    Array target(placement(), dtype, target_shape, layouts[0]);
    Array out(placement(), dtype, target_shape, layouts[0]);
    Array index(placement(), index_dtype, index_shape, layouts[1]);
    Array values(placement(), dtype, update_shape(true, target_shape, index_shape, axis),
                 layouts[2]);
    const bool moderate = random_() % 2 == 0;
    for (View* view :
         {static_cast<View*>(&target), static_cast<View*>(&out), static_cast<View*>(&values)})
      fill_numbers(*view, random_, moderate);
    const std::int64_t size = split_at(target_shape, axis).size;
    fill_indices(index, random_, size, options.mode == GPUKERN_INDEX_RAISE ? 0 : 2 * size + 3);
    expect_scatter(
        {true, target, index, values, axis, options, random_() % 3 == 0 ? &out : nullptr},
        placement());
  }

  Random random_{20260105};
};

TEST_P(PutAlongAxisTest, EveryIndexTypeInEveryMode) {
  for (const IndexType& type : kIndexTypes)
    for (const gpukern_index_mode mode : kModes)
      for (const std::int64_t size : {1, 7, 100}) {
        SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode));
        check(bytes_dtype(4), {3, size}, type.dtype, {3, 65}, 1, scatter_options(mode));
        check(kFloat64, {size, 33}, type.dtype, {65, 33}, 0,
              scatter_options(mode, GPUKERN_REDUCE_ADD));
      }
}

TEST_P(PutAlongAxisTest, EveryWidth) {
  for (const int width : {1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 100}) {
    SCOPED_TRACE("width " + std::to_string(width));
    check(bytes_dtype(width), {5, 40, 3}, kInt64.dtype, {5, 70, 3}, 1,
          scatter_options(GPUKERN_INDEX_RAISE));
    check(bytes_dtype(width), {40, 9}, kInt32.dtype, {70, 9}, -2,
          scatter_options(GPUKERN_INDEX_FILL));
  }
}

TEST_P(PutAlongAxisTest, EveryReductionOfEveryDtype) {
  for (const gpukern_dtype dtype : kReducedDtypes)
    for (const gpukern_reduce reduce : kReductions) {
      if (!has_reduction(dtype, reduce)) continue;
      SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
                   " bits, reduce " + std::to_string(reduce));
      const auto options = scatter_options(GPUKERN_INDEX_FILL, reduce);
      check(dtype, {5, 40, 3}, kInt64.dtype, {5, 70, 3}, 1, options);
      check(dtype, {2, 3}, kInt32.dtype, {2, 3000}, -1, options);
      check(dtype, {3, 2}, kInt32.dtype, {3000, 2}, 0, options);
      check(dtype, {70}, kInt64.dtype, {2000}, GPUKERN_AXIS_NONE, options);
    }
}

TEST_P(PutAlongAxisTest, BroadcastsBothWays) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD})
    for (const gpukern_index_mode mode : kModes)
      for (const std::int32_t axis : {0, 1, 2, -1}) {
        const Shape whole{5, 6, 7};
        const auto number = static_cast<std::size_t>((axis + 3) % 3);
        for (const unsigned ones : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
          Shape to = whole;
          Shape at = whole;
          for (std::size_t d = 0; d < 3; ++d) (((ones >> d) & 1U) != 0 ? to : at)[d] = 1;
          to[number] = whole[number];
          at[number] = 44;
          const auto options = scatter_options(mode, reduce);
          check(kFloat32, to, kInt64.dtype, at, axis, options);
          check(kFloat32, whole, kInt32.dtype, at, axis, options);
          check(kFloat32, to, kInt64.dtype, whole, axis, options);
        }
      }
}

TEST_P(PutAlongAxisTest, EveryLayout) {
  for (const Layout target : kOutputLayouts)
    for (const Layout index : kInputLayouts)
      for (const Layout values : kInputLayouts)
        for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
          const std::array layouts{target, index, values};
          const auto options = scatter_options(GPUKERN_INDEX_WRAP, reduce);
          check(kFloat32, {5, 9, 6}, kInt64.dtype, {5, 4, 6}, 1, options, layouts);
          check(kReducedDtypes[0], {5, 9, 6}, kInt32.dtype, {1, 4, 1}, 1, options, layouts);
          check(kFloat64, {5, 9, 6}, kInt64.dtype, {33}, GPUKERN_AXIS_NONE, options, layouts);
        }
}

// On a GPU, enough rows for each multiprocessor, and tables of every kind: of several rows, of one,
// of a part of one. The last thread block has fewer rows.
TEST_P(PutAlongAxisTest, ManyRows) {
  for (const gpukern_index_mode mode : kModes) {
    SCOPED_TRACE("mode " + std::to_string(mode));
    const auto options = scatter_options(mode);
    for (const IndexType& type : kIndexTypes)
      check(bytes_dtype(4), {1003, 30}, type.dtype, {1003, 70}, 1, options);
    for (const int width : {1, 2, 8, 16})
      check(bytes_dtype(width), {301, 1}, kInt32.dtype, {301, 9}, 1, options);
    check(bytes_dtype(4), {150, 5, 40}, kInt32.dtype, {150, 1, 33}, 2, options);
    check(bytes_dtype(2), {190, 9000}, kInt32.dtype, {190, 1000}, 1, options);
  }
  for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_FILL})
    check(bytes_dtype(1), {190, 70001}, kInt32.dtype, {190, 4500}, 1, scatter_options(mode));
  for (std::size_t t = 0; t < std::size(kOutputLayouts); ++t)
    for (std::size_t i = 0; i < std::size(kInputLayouts); ++i)
      check(
          bytes_dtype(4), {301, 20}, kInt64.dtype, {301, 30}, 1,
          scatter_options(GPUKERN_INDEX_FILL),
          {kOutputLayouts[t], kInputLayouts[i], kInputLayouts[(t + i) % std::size(kInputLayouts)]});
}

TEST_P(PutAlongAxisTest, RandomCalls) {
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Shape target(static_cast<std::size_t>(between(random_, 1, 5)));
    for (auto& size : target) size = between(random_, 1, 6);
    Shape index = target;
    const auto ndim = static_cast<std::int64_t>(target.size());
    auto axis = static_cast<std::int32_t>(between(random_, -ndim, ndim - 1));
    for (std::size_t d = 0; d < target.size(); ++d)
      if (random_() % 3 == 0) (random_() % 2 == 0 ? target : index)[d] = 1;
    index[static_cast<std::size_t>((axis + ndim) % ndim)] = between(random_, 0, 30);
    if (random_() % 8 == 0) {
      axis = GPUKERN_AXIS_NONE;
      index = {between(random_, 0, 30)};
    }
    const gpukern_reduce reduce = kReductions[random_() % std::size(kReductions)];
    gpukern_dtype dtype = kReducedDtypes[random_() % std::size(kReducedDtypes)];
    if (!has_reduction(dtype, reduce)) dtype = kFloat32;
    check(dtype, target, kIndexTypes[random_() % std::size(kIndexTypes)].dtype, index, axis,
          scatter_options(kModes[random_() % std::size(kModes)], reduce),
          {kOutputLayouts[random_() % std::size(kOutputLayouts)],
           kInputLayouts[random_() % std::size(kInputLayouts)],
           kInputLayouts[random_() % std::size(kInputLayouts)]});
  }
}

TEST_P(PutAlongAxisTest, ManyElements) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
    check(kFloat32, {100, 3000}, kInt64.dtype, {100, 2000}, 1,
          scatter_options(GPUKERN_INDEX_RAISE, reduce));
    check(kFloat64, {3000, 100}, kInt32.dtype, {1, 100}, 0,
          scatter_options(GPUKERN_INDEX_WRAP, reduce));
    check(kFloat32, {1, 3000}, kInt32.dtype, {100, 2000}, 1,
          scatter_options(GPUKERN_INDEX_CLIP, reduce));
    check(kFloat32, {70001}, kInt64.dtype, {90001}, 0, scatter_options(GPUKERN_INDEX_FILL, reduce));
  }
}

// On a GPU, a thread for each of some thousand lines, as a table has too many elements, and also
// for several lines in turn, whose elements stay in the cache; and a table larger than a part of
// it.
TEST_P(PutAlongAxisTest, ManyLinesAndManyElements) {
  for (const gpukern_index_mode mode : kModes) {
    check(bytes_dtype(2), {1000, 3000}, kInt64.dtype, {10, 3000}, 0, scatter_options(mode));
    check(bytes_dtype(4), {3, 70, 2000}, kInt32.dtype, {3, 50, 2000}, 1, scatter_options(mode));
  }
  check(bytes_dtype(1), {20000, 2000}, kInt32.dtype, {30, 2000}, 0,
        scatter_options(GPUKERN_INDEX_WRAP));
  check(bytes_dtype(1), {9 << 20}, kInt32.dtype, {600000}, 0, scatter_options(GPUKERN_INDEX_CLIP));
}

TEST_P(PutAlongAxisTest, ArgumentsMayOverlap) {
  for (const std::int64_t shift : {-48, -8, 0, 8, 48}) {
    Array target(placement(), kInt64.dtype, {30, 40});
    Array index(placement(), kInt64.dtype, {30, 20});
    fill_random(target.storage.host, random_);
    fill_indices(index, random_, 40);
    const View values{&target.storage, target.dtype, {30, 20}, {30, 1}, kGuard + 64 + shift};
    const View written{&index.storage, index.dtype, {30, 20}, {20, 1}, kGuard + shift};
    for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD}) {
      const auto options = scatter_options(GPUKERN_INDEX_WRAP, reduce);
      expect_scatter({true, target, index, values, 1, options}, placement());
      expect_scatter({true, written, index, index, 1, options}, placement());
    }
  }
}

TEST_P(PutAlongAxisTest, EmptyCalls) {
  for (const gpukern_index_mode mode : kModes)
    for (const auto& [to, at] : {std::pair(Shape{3, 0}, Shape{3, 0}),
                                 {{1, 1}, {0, 4}},
                                 {{2, 3}, {2, 0}},
                                 {{3, 0}, {3, 2}}})  // an error
      check(bytes_dtype(4), to, kInt64.dtype, at, 1, scatter_options(mode));
}

TEST_P(PutAlongAxisTest, RaiseIsAllOrNothing) {
  for (const std::int64_t bad : {12, -13})
    for (const bool with_out : {false, true}) {
      Array target(placement(), kFloat32, {50, 12});
      Array out(placement(), kFloat32, {50, 12});
      Array index(placement(), kInt64.dtype, {50, 40});
      Array values(placement(), kFloat32, {50, 40});
      fill_random(target.storage.host, random_);
      fill_random(out.storage.host, random_);
      fill_indices(index, random_, 12);
      const auto offsets = index.offsets();
      for (const std::size_t k : {std::size_t{1500}, std::size_t{1999}})
        store_index(index.storage.host, offsets[k], kInt64.dtype, bad);
      expect_scatter({true, target, index, values, 1, scatter_options(GPUKERN_INDEX_RAISE),
                      with_out ? &out : nullptr},
                     placement());
    }
}

GPUKERN_INSTANTIATE_PLACEMENTS(PutAlongAxisTest);

/// Host arrays of zeros, as arguments that are refused before an element is read.
gpukern_status try_put(const Shape& target, const Shape& index, std::int32_t axis,
                       const Shape& values = {}) {
  const Array to(Placement::Cpu, kInt32.dtype, target);
  const Array at(Placement::Cpu, kInt64.dtype, index);
  const Array from(Placement::Cpu, kInt32.dtype, values);
  return Scatter{true, to, at, from, axis, scatter_options(GPUKERN_INDEX_RAISE)}.run(
      exec_at(Placement::Cpu));
}

TEST(PutAlongAxisErrorTest, Shapes) {
  expect_error(try_put({}, {1}, 0), GPUKERN_AXIS_ERROR,
               "axis 0 is out of bounds for array of dimension 0");
  EXPECT_EQ(try_put({}, {3}, GPUKERN_AXIS_NONE), GPUKERN_SUCCESS);
  expect_error(try_put({3, 4}, {3, 4}, 2), GPUKERN_AXIS_ERROR,
               "axis 2 is out of bounds for array of dimension 2");
  expect_error(try_put({3, 4}, {4}, 1), GPUKERN_VALUE_ERROR,
               "put_along_axis: index must have 2 dimensions, as many as the target, got 1");
  expect_error(try_put({3, 4}, {3, 4}, GPUKERN_AXIS_NONE), GPUKERN_VALUE_ERROR,
               "put_along_axis: index must have 1 dimension, for the flattened target, got 2");
  expect_error(try_put({3, 4}, {2, 4}, 1), GPUKERN_VALUE_ERROR,
               "put_along_axis: index must broadcast with the target outside axis 1, got shape "
               "(2, 4) for a target of shape (3, 4)");
  expect_error(try_put({3, 4}, {3, 5}, 1, {3, 4}), GPUKERN_VALUE_ERROR,
               "put_along_axis: values must broadcast to shape (3, 5), got (3, 4)");
  expect_error(try_put({3, 0}, {3, 5}, 1), GPUKERN_INDEX_ERROR,
               "cannot do a non-empty put to an empty axis.");
}

TEST(PutAlongAxisHppTest, OptionsAndShapes) {
  const std::vector<int> index{2, 7};
  std::vector<float> target(6);
  gpukern::put_along_axis(gpukern::TensorRef(target, {2, 3}), gpukern::TensorRef(index, {2, 1}),
                          std::vector<float>{5},
                          {.mode = gpukern::Mode::fill, .exec = {.device = gpukern::kCpu}});
  EXPECT_EQ(target, (std::vector<float>{0, 0, 5, 0, 0, 0}));
  std::vector<float> out(6);
  gpukern::put_along_axis(target, std::vector{2, 0}, std::vector<float>{1, 1}, out,
                          {.axis = gpukern::kFlattened, .reduce = gpukern::Reduction::add});
  EXPECT_EQ(out, (std::vector<float>{1, 0, 6, 0, 0, 0}));
  EXPECT_THROW(gpukern::put_along_axis(target, std::vector{6}, std::vector<float>{1}),
               gpukern::IndexError);
}

}  // namespace
}  // namespace gpukern_test

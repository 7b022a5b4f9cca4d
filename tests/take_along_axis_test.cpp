// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// take_along_axis against its definition, for every placement, also in chunks of 4 KiB.

#include <array>
#include <optional>

#include "gather_oracle.hpp"
#include "gpukern/gpukern.hpp"

namespace gpukern_test {
namespace {

/// The element number at a position, of an array that broadcasts to the position's shape.
std::size_t element_at(const Shape& shape, const Shape& position) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    number = number * shape[d] + (shape[d] == 1 ? 0 : position[d]);
  return static_cast<std::size_t>(number);
}

Shape position_of(std::size_t number, const Shape& shape) {
  Shape position(shape.size());
  auto rest = static_cast<std::int64_t>(number);
  for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) position[d] = rest % shape[d];
  return position;
}

struct TakeAlongAxis {
  const View& source;
  const View& index;
  std::int32_t axis;
  gpukern_index_mode mode;
  const View& out;
  const View* fill = nullptr;  ///< host memory, one element

  [[nodiscard]] Shape source_shape() const {
    return axis == GPUKERN_AXIS_NONE ? Shape{source.count()} : source.shape;
  }
  [[nodiscard]] std::size_t axis_number() const {
    if (axis == GPUKERN_AXIS_NONE) return 0;
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(source.shape.size()) : axis);
  }
  [[nodiscard]] std::int64_t length() const { return source_shape()[axis_number()]; }

  [[nodiscard]] gpukern_status run(const gpukern_exec& exec, std::int32_t may_change) const {
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    const gpukern_tensor value = fill != nullptr ? fill->tensor() : gpukern_tensor{};
    gpukern_gather_options options = gather_options(mode, fill != nullptr ? &value : nullptr);
    options.out_may_change = may_change;
    return gpukern_take_along_axis(&from, &at, axis, &to, &options, &exec);
  }
};

Shape result_shape(const Shape& source, const Shape& index, std::int32_t axis) {
  Shape shape = index;
  const auto ndim = static_cast<std::int32_t>(source.size());
  for (std::int32_t d = 0; axis != GPUKERN_AXIS_NONE && d < ndim; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (d != (axis + ndim) % ndim && shape[at] == 1) shape[at] = source[at];
  }
  return shape;
}

Expected take_along_axis_oracle(const TakeAlongAxis& call) {
  const auto from = call.source.offsets();
  const auto at = call.index.offsets();
  const auto to = call.out.offsets();
  const Shape shape = call.source_shape();
  const std::size_t axis = call.axis_number();
  const auto item = static_cast<std::size_t>(call.source.item());
  Expected expected{GPUKERN_SUCCESS, "", call.out.memory->host};
  if (to.empty()) return expected;
  for (const auto offset : at) {
    const Wide value = load_index(call.index.memory->host, offset, call.index.dtype);
    if (call.mode == GPUKERN_INDEX_RAISE && !resolve(value, call.length(), call.mode))
      return {GPUKERN_INDEX_ERROR,
              "index " + text_of(value) + " is out of bounds for axis " + std::to_string(axis) +
                  " with size " + std::to_string(call.length()),
              expected.out};
  }
  for (std::size_t k = 0; k < to.size(); ++k) {
    Shape position = position_of(k, call.out.shape);
    const auto offset = at[element_at(call.index.shape, position)];
    const auto found = resolve(load_index(call.index.memory->host, offset, call.index.dtype),
                               call.length(), call.mode);
    std::byte* const target = expected.out.data() + to[k];
    if (found) {
      position[axis] = *found;
      std::memcpy(target, call.source.memory->host.data() + from[element_at(shape, position)],
                  item);
    } else if (call.fill != nullptr) {
      std::memcpy(target, call.fill->memory->host.data() + call.fill->offset, item);
    } else {
      std::memset(target, 0, item);
    }
  }
  return expected;
}

class TakeAlongAxisTest : public PlacementTest {
 protected:
  void expect(const TakeAlongAxis& call, std::int32_t may_change = 0) const {
    const Expected expected = take_along_axis_oracle(call);
    std::vector<Memory*> memories{call.source.memory, call.index.memory};
    const bool is_specified = expected.status == GPUKERN_SUCCESS || may_change == 0;
    if (is_specified) memories.push_back(call.out.memory);
    expect_call(expected, call.out.memory, memories, placement(),
                [&](const gpukern_exec& exec) { return call.run(exec, may_change); });
  }

  /// Random data; indices reach out of bounds unless the mode is raise.
  void check(gpukern_dtype dtype, const Shape& source_shape, gpukern_dtype index_dtype,
             const Shape& index_shape, std::int32_t axis, gpukern_index_mode mode,
             const std::array<Layout, 3>& layouts = {}) {
    Array source(placement(), dtype, source_shape, layouts[0]);
    Array index(placement(), index_dtype, index_shape, layouts[1]);
    Array out(placement(), dtype, result_shape(source_shape, index_shape, axis), layouts[2]);
    Array fill(Placement::Cpu, dtype, {});
    for (Memory* memory : {&source.storage, &out.storage, &fill.storage})
      fill_random(memory->host, random_);
    const TakeAlongAxis call{source, index, axis, mode, out, random_() % 2 == 0 ? &fill : nullptr};
    const std::int64_t size = call.length();
    fill_indices(index, random_, size, mode == GPUKERN_INDEX_RAISE ? 0 : 2 * size + 3);
    expect(call, static_cast<std::int32_t>(random_() % 2));
  }

  Random random_{20260102};
};

TEST_P(TakeAlongAxisTest, EveryIndexTypeInEveryMode) {
  for (const IndexType& type : kIndexTypes)
    for (const gpukern_index_mode mode : kModes)
      for (const std::int64_t size : {1, 7, 100}) {
        SCOPED_TRACE(std::string(type.name) + ", mode " + std::to_string(mode));
        check(bytes_dtype(4), {3, size}, type.dtype, {3, 65}, 1, mode);
        check(bytes_dtype(8), {size, 33}, type.dtype, {65, 33}, 0, mode);
      }
}

TEST_P(TakeAlongAxisTest, EveryWidth) {
  for (const int width : {1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 100}) {
    SCOPED_TRACE("width " + std::to_string(width));
    check(bytes_dtype(width), {5, 40, 3}, kInt64.dtype, {5, 70, 3}, 1, GPUKERN_INDEX_RAISE);
    check(bytes_dtype(width), {40, 9}, kInt32.dtype, {70, 9}, -2, GPUKERN_INDEX_FILL);
  }
}

TEST_P(TakeAlongAxisTest, BroadcastsBothWays) {
  for (const gpukern_index_mode mode : kModes) {
    for (const std::int32_t axis : {0, 1, 2, -1}) {
      Shape source{5, 6, 7};
      const auto number = static_cast<std::size_t>((axis + 3) % 3);
      for (const unsigned ones : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
        Shape from = source;
        Shape at = source;
        for (std::size_t d = 0; d < 3; ++d) (((ones >> d) & 1U) != 0 ? from : at)[d] = 1;
        from[number] = source[number];
        at[number] = 44;
        check(bytes_dtype(4), from, kInt64.dtype, at, axis, mode);
        check(bytes_dtype(4), source, kInt32.dtype, at, axis, mode);
        check(bytes_dtype(4), from, kInt64.dtype, source, axis, mode);
      }
    }
  }
}

TEST_P(TakeAlongAxisTest, EveryLayout) {
  for (const Layout source : kInputLayouts)
    for (const Layout index : kInputLayouts)
      for (const Layout out : kOutputLayouts)
        for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_FILL}) {
          check(bytes_dtype(4), {5, 9, 6}, kInt64.dtype, {5, 4, 6}, 1, mode, {source, index, out});
          check(bytes_dtype(6), {5, 9, 6}, kInt32.dtype, {1, 4, 1}, 1, mode, {source, index, out});
          check(bytes_dtype(8), {5, 9, 6}, kInt64.dtype, {33}, GPUKERN_AXIS_NONE, mode,
                {source, index, out});
        }
}

TEST_P(TakeAlongAxisTest, RandomCalls) {
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Shape source(static_cast<std::size_t>(between(random_, 1, 5)));
    for (auto& size : source) size = between(random_, 1, 6);
    Shape index = source;
    const auto ndim = static_cast<std::int64_t>(source.size());
    auto axis = static_cast<std::int32_t>(between(random_, -ndim, ndim - 1));
    for (std::size_t d = 0; d < source.size(); ++d)
      if (random_() % 3 == 0) (random_() % 2 == 0 ? source : index)[d] = 1;
    index[static_cast<std::size_t>((axis + ndim) % ndim)] = between(random_, 0, 30);
    if (random_() % 8 == 0) {
      axis = GPUKERN_AXIS_NONE;
      index = {between(random_, 0, 30)};
    }
    check(bytes_dtype(static_cast<int>(between(random_, 1, 20))), source,
          kIndexTypes[random_() % std::size(kIndexTypes)].dtype, index, axis,
          kModes[random_() % std::size(kModes)],
          {kInputLayouts[random_() % std::size(kInputLayouts)],
           kInputLayouts[random_() % std::size(kInputLayouts)],
           kOutputLayouts[random_() % std::size(kOutputLayouts)]});
  }
}

TEST_P(TakeAlongAxisTest, ManyElements) {
  check(bytes_dtype(4), {100, 3000}, kInt64.dtype, {100, 2000}, 1, GPUKERN_INDEX_RAISE);
  check(bytes_dtype(8), {3000, 100}, kInt32.dtype, {1, 100}, 0, GPUKERN_INDEX_WRAP);
  check(bytes_dtype(4), {1, 3000}, kInt32.dtype, {100, 2000}, 1, GPUKERN_INDEX_CLIP);
  check(bytes_dtype(4), {70001}, kInt64.dtype, {90001}, 0, GPUKERN_INDEX_FILL);
  check(bytes_dtype(4), {40, 700}, kInt32.dtype, {50, 700}, 0, GPUKERN_INDEX_RAISE);
  check(bytes_dtype(2), {3, 50, 90}, kInt64.dtype, {3, 70, 90}, 1, GPUKERN_INDEX_CLIP);
}

// On a GPU, wide strips.
TEST_P(TakeAlongAxisTest, FewRowsOfManyColumns) {
  for (const std::int64_t rows : {1, 3, 40}) {
    check(bytes_dtype(4), {3, 5000}, kInt64.dtype, {rows, 5000}, 0, GPUKERN_INDEX_WRAP);
    check(bytes_dtype(1), {2, 3, 2500}, kInt32.dtype, {2, rows, 2500}, 1, GPUKERN_INDEX_CLIP);
  }
  check(bytes_dtype(1), {3, 1 << 20}, kInt32.dtype, {1, 1 << 20}, 0, GPUKERN_INDEX_RAISE);
  check(bytes_dtype(2), {1100, 3, 3000}, kInt32.dtype, {1100, 1, 3000}, 1, GPUKERN_INDEX_WRAP);
}

TEST_P(TakeAlongAxisTest, EmptyResultsCheckNoIndex) {
  for (const gpukern_index_mode mode : kModes) {
    for (const auto& [from, at] : {std::pair(Shape{0, 3}, Shape{1, 5}),
                                   {{3, 0}, {3, 0}},
                                   {{0, 0}, {1, 4}},
                                   {{1, 1}, {0, 4}}}) {
      Array source(placement(), bytes_dtype(4), from);
      Array index(placement(), kInt64.dtype, at);
      Array out(placement(), bytes_dtype(4), result_shape(from, at, 1));
      for (const auto offset : index.offsets())
        store_index(index.storage.host, offset, kInt64.dtype, 99);
      expect({source, index, 1, mode, out});
    }
  }
}

TEST_P(TakeAlongAxisTest, OutMayOverlapSourceAndIndex) {
  for (const std::int64_t shift : {-48, -8, 0, 8, 48}) {
    Array source(placement(), kInt64.dtype, {30, 40});
    Array index(placement(), kInt64.dtype, {30, 20});
    fill_random(source.storage.host, random_);
    fill_indices(index, random_, 40);
    const View in_source{&source.storage, source.dtype, {30, 20}, {30, 1}, kGuard + 64 + shift};
    expect({source, index, 1, GPUKERN_INDEX_RAISE, in_source});
    const View in_index{&index.storage, index.dtype, {30, 20}, {20, 1}, kGuard + shift};
    expect({source, index, 1, GPUKERN_INDEX_WRAP, in_index});
  }
}

TEST_P(TakeAlongAxisTest, RaiseNamesTheFirstBadIndexAndLeavesOutUnchanged) {
  for (const std::int64_t bad : {12, -13}) {
    Array source(placement(), bytes_dtype(4), {50, 12});
    Array index(placement(), kInt64.dtype, {50, 40});
    Array out(placement(), bytes_dtype(4), {50, 40});
    fill_random(source.storage.host, random_);
    fill_random(out.storage.host, random_);
    fill_indices(index, random_, 12);
    const auto offsets = index.offsets();
    for (const std::size_t k : {std::size_t{1500}, std::size_t{1999}})
      store_index(index.storage.host, offsets[k], kInt64.dtype, bad);
    expect({source, index, 1, GPUKERN_INDEX_RAISE, out});
    expect({source, index, 1, GPUKERN_INDEX_RAISE, out}, 1);
  }
}

GPUKERN_INSTANTIATE_PLACEMENTS(TakeAlongAxisTest);

/// Host arrays of zeros, as arguments that are refused before an element is read.
gpukern_status try_take(const Shape& source, const Shape& index, std::int32_t axis,
                        const Shape& out, const std::optional<Shape>& fill = std::nullopt) {
  const Array from(Placement::Cpu, kInt32.dtype, source);
  const Array at(Placement::Cpu, kInt64.dtype, index);
  const Array to(Placement::Cpu, kInt32.dtype, out);
  const Array value(Placement::Cpu, kInt32.dtype, fill.value_or(Shape{}));
  return TakeAlongAxis{from, at, axis, fill ? GPUKERN_INDEX_FILL : GPUKERN_INDEX_RAISE, to, &value}
      .run(exec_at(Placement::Cpu), 0);
}

TEST(TakeAlongAxisErrorTest, Shapes) {
  expect_error(try_take({}, {1}, 0, {1}), GPUKERN_AXIS_ERROR,
               "axis 0 is out of bounds for array of dimension 0");
  EXPECT_EQ(try_take({}, {3}, GPUKERN_AXIS_NONE, {3}), GPUKERN_SUCCESS);
  expect_error(try_take({3, 4}, {3, 4}, 2, {3, 4}), GPUKERN_AXIS_ERROR,
               "axis 2 is out of bounds for array of dimension 2");
  expect_error(try_take({3, 4}, {4}, 1, {3, 4}), GPUKERN_VALUE_ERROR,
               "take_along_axis: index must have 2 dimensions, as many as the source, got 1");
  expect_error(try_take({3, 4}, {3, 4}, GPUKERN_AXIS_NONE, {12}), GPUKERN_VALUE_ERROR,
               "take_along_axis: index must have 1 dimension, for the flattened source, got 2");
  expect_error(try_take({3, 4}, {2, 4}, 1, {3, 4}), GPUKERN_VALUE_ERROR,
               "take_along_axis: index must broadcast with the source outside axis 1, got shape "
               "(2, 4) for a source of shape (3, 4)");
  expect_error(try_take({3, 4}, {3, 5}, 1, {3, 4}), GPUKERN_VALUE_ERROR,
               "take_along_axis: out must have shape (3, 5), got (3, 4)");
  expect_error(try_take({3, 0}, {3, 5}, 1, {3, 5}), GPUKERN_INDEX_ERROR,
               "cannot do a non-empty take from an empty axes.");
}

TEST(TakeAlongAxisErrorTest, FillValueHasNoDimensionOfAnIndex) {
  EXPECT_EQ(try_take({3, 4}, {2, 1}, 0, {2, 4}, Shape{4}), GPUKERN_SUCCESS);
  expect_error(try_take({3, 4}, {2, 4}, 0, {2, 4}, Shape{4}), GPUKERN_VALUE_ERROR,
               "take_along_axis: fill_value must be a number, or have dimensions only along which "
               "index has length 1, got ndim 1 for an index of shape (2, 4)");
}

TEST(TakeAlongAxisErrorTest, FillValueIsCheckedFirst) {
  const Array source(Placement::Cpu, kInt32.dtype, {3, 4});
  const Array index(Placement::Cpu, kInt64.dtype, {3, 1});
  const Array out(Placement::Cpu, kInt32.dtype, {3, 1});
  gpukern_tensor fill = source.tensor();
  const gpukern_gather_options options = gather_options(GPUKERN_INDEX_FILL, &fill);
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor at = index.tensor();
  const gpukern_tensor to = out.tensor();
  for (const std::int32_t ndim : {INT32_MIN, -1, GPUKERN_MAX_NDIM + 1, INT32_MAX}) {
    fill.ndim = ndim;
    expect_error(gpukern_take_along_axis(&from, &at, 1, &to, &options, nullptr),
                 GPUKERN_VALUE_ERROR, "take_along_axis: fill_value must have 0 to 64 dimensions");
  }
}

TEST(TakeAlongAxisHppTest, OptionsAndShapes) {
  const std::vector<float> source{1, 2, 3, 4, 5, 6};
  const std::vector<int> index{2, 0, -1, 7};
  std::vector<float> out(4);
  gpukern::take_along_axis(
      gpukern::TensorRef(source, {2, 3}), gpukern::TensorRef(index, {2, 2}),
      gpukern::TensorRef(out, {2, 2}),
      {.mode = gpukern::Mode::fill, .fill_value = -1, .exec = {.device = gpukern::kCpu}});
  EXPECT_EQ(out, (std::vector<float>{3, 1, 6, -1}));
  gpukern::take_along_axis(gpukern::TensorRef(source, {2, 3}), std::vector{5, 0},
                           std::span(out).first(2), {.axis = gpukern::kFlattened});
  EXPECT_EQ(out, (std::vector<float>{6, 1, 6, -1}));
  EXPECT_THROW(gpukern::take_along_axis(source, index, out), gpukern::IndexError);
}

}  // namespace
}  // namespace gpukern_test

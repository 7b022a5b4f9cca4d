// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// axpby of every type and layout, bit by bit, and its errors.

#include <vector>

#include "axpby_oracle.hpp"

namespace gpukern_test {
namespace {

class AxpbyTest : public PlacementTest {
 protected:
  void check(gpukern_dtype x_type, gpukern_dtype y_type, gpukern_dtype out_type, const Shape& shape,
             Layout x_layout = Layout::Contiguous, Layout y_layout = Layout::Contiguous,
             Layout out_layout = Layout::Contiguous) {
    const Array a(placement(), y_type, {shape[0], 1});
    const Array x(placement(), x_type, shape, x_layout);
    const Array b(placement(), x_type, {shape[1]});
    const Array y(placement(), y_type, shape, y_layout);
    const Array out(placement(), out_type, shape, out_layout);
    fill_random(out.memory->host, random_);
    expect_sum({a, x, &b, y, out}, placement(), random_);
  }

  Random random_{7};
};
GPUKERN_INSTANTIATE_PLACEMENTS(AxpbyTest);

TEST_P(AxpbyTest, EveryCombinationOfTypes) {
  for (const gpukern_dtype x : {kHalf, kBFloat, kSingle})
    for (const gpukern_dtype y : {kHalf, kBFloat, kSingle})
      for (const gpukern_dtype out : {kHalf, kBFloat, kSingle}) check(x, y, out, {5, 1031});
  for (const gpukern_dtype other : {kHalf, kBFloat, kSingle, kDouble}) {
    check(kDouble, other, kDouble, {5, 1031});
    check(other, kDouble, kSingle, {5, 1031});
    check(other, other, kDouble, {5, 1031});
  }
}

TEST_P(AxpbyTest, EveryLayout) {
  for (const gpukern_dtype type : {kBFloat, kDouble})
    for (const Layout x : kInputLayouts)
      for (const Layout y : kInputLayouts)
        for (const Layout out : kOutputLayouts) {
          SCOPED_TRACE(testing::Message() << static_cast<int>(x) << ' ' << static_cast<int>(y)
                                          << ' ' << static_cast<int>(out));
          check(type, kSingle, kSingle, {37, 67}, x, y, out);
        }
}

TEST_P(AxpbyTest, ContiguousArraysOfA16BitType) {
  const Array number(Placement::Cpu, kSingle, {});
  for (const gpukern_dtype type : {kHalf, kBFloat})
    for (const std::int64_t count : {1, 7, 8, 9, 2047, 2048, 2049, 70001}) {
      SCOPED_TRACE(count);
      const auto make = [&](Layout layout) { return Array(placement(), type, {count}, layout); };
      const Array a = make(Layout::Contiguous);
      const Array x = make(Layout::Contiguous);
      const Array b = make(Layout::Contiguous);
      const Array y = make(Layout::Contiguous);
      const Array unaligned = make(Layout::Unaligned);
      const Array wide(placement(), kSingle, {count});
      const Array out = make(Layout::Contiguous);
      fill_random(out.memory->host, random_);
      expect_sum({a, x, &b, y, out}, placement(), random_);
      expect_sum({a, x, nullptr, y, out}, placement(), random_);
      expect_sum({number, x, &b, y, out}, placement(), random_);
      expect_sum({a, x, nullptr, y, y}, placement(), random_);
      expect_sum({a, unaligned, &b, y, out}, placement(), random_);
      expect_sum({number, wide, nullptr, y, out}, placement(), random_);
      expect_sum({wide, x, &wide, wide, out}, placement(), random_);
    }
}

// As those of saxpy.
TEST_P(AxpbyTest, NumbersAndArraysOfOneType) {
  const Array a(Placement::Cpu, kSingle, {});
  const Array b(Placement::Cpu, kSingle, {});
  const Array wide_a(Placement::Cpu, kDouble, {});
  const Array wide_b(Placement::Cpu, kDouble, {});
  for (const gpukern_dtype type : {kHalf, kBFloat, kSingle, kDouble})
    for (const Shape& shape : {Shape{3, 1031}, Shape{300, 5}, Shape{40, 3, 50}})
      for (const Layout x : kInputLayouts)
        for (const Layout out : kOutputLayouts) {
          SCOPED_TRACE(testing::Message() << static_cast<int>(type.bits) << ' '
                                          << static_cast<int>(x) << ' ' << static_cast<int>(out));
          const Array of_x(placement(), type, shape, x);
          const Array of_y(placement(), type, shape, out);
          const Array result(placement(), type, shape, out);
          fill_random(result.memory->host, random_);
          const bool is_wide = type.bits == 64;
          expect_sum({is_wide ? wide_a : a, of_x, is_wide ? &wide_b : &b, of_y, result},
                     placement(), random_);
          expect_sum({is_wide ? wide_a : a, of_x, nullptr, of_y, of_y}, placement(), random_);
        }
}

TEST_P(AxpbyTest, EveryNumberOfColumns) {
  for (std::int64_t columns = 1; columns < 40; ++columns)
    for (const Layout layout : {Layout::Contiguous, Layout::Fortran})
      check(kBFloat, kSingle, kSingle, {3, columns}, layout);
}

// Each of the four inputs in turn, as a factor of each row, of each column, and of all elements.
TEST_P(AxpbyTest, OutMayOverlapAnyInput) {
  const Shape shape{30, 40};
  for (const Shape& factor : {Shape{30, 1}, Shape{40}, Shape{}})
    for (int which = 0; which < 4; ++which)
      for (const std::int64_t first : {0, 7, 700}) {
        SCOPED_TRACE(testing::Message() << factor.size() << " dimensions, input " << which);
        const Array all[4] = {{placement(), kSingle, shape},
                              {placement(), kSingle, shape},
                              {placement(), kSingle, shape},
                              {placement(), kSingle, shape}};
        const Array out(placement(), kSingle, shape);
        const View in_out{out.memory, kSingle, factor, Shape(factor.size(), 1), kGuard + 4 * first};
        const auto input = [&](int k) -> const View& { return k == which ? in_out : all[k]; };
        const View& b = input(2);
        expect_sum({input(0), input(1), &b, input(3), out}, placement(), random_);
        if (which != 2)
          expect_sum({input(0), input(1), nullptr, input(3), out}, placement(), random_);
      }
}

TEST_P(AxpbyTest, RefusesArguments) {
  const Array good(placement(), kSingle, {2, 3});
  const Array whole(placement(), {GPUKERN_INT, 32, 1}, {2, 3});
  const Array two(placement(), kSingle, {2});
  expect_error(Sum{good, whole, &good, good, good}.run(placement()), GPUKERN_TYPE_ERROR,
               "axpby: x must have one of the dtypes float16, bfloat16, float32, float64, got "
               "int32");
  expect_error(Sum{good, good, &two, good, good}.run(placement()), GPUKERN_VALUE_ERROR,
               "axpby: b must broadcast to shape (2, 3), got (2,)");
  expect_error(Sum{good, good, &good, good, whole}.run(placement()), GPUKERN_TYPE_ERROR,
               "axpby: out must have one of the dtypes");
}

}  // namespace
}  // namespace gpukern_test

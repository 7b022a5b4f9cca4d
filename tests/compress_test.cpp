// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "select_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr gpukern_dtype kInt32{GPUKERN_INT, 32, 1};
constexpr gpukern_dtype kFloat32{GPUKERN_FLOAT, 32, 1};

struct Layouts {
  Layout mask = Layout::Contiguous;
  Layout x = Layout::Contiguous;
  Layout out = Layout::Contiguous;
};

class CompressTest : public PlacementTest {
 protected:
  /// `more`: items of the output beyond the number of those that the mask selects.
  void check(gpukern_dtype mask_dtype, const Shape& mask_shape, gpukern_dtype dtype,
             const Shape& shape, std::int32_t axis, double density, std::int64_t more = 0,
             Layouts layouts = {}) {
    Array mask(placement(), mask_dtype, mask_shape, layouts.mask);
    Array x(placement(), dtype, shape, layouts.x);
    fill_random(mask.storage.host, random_);
    fill_mask(mask, random_, density);
    fill_random(x.storage.host, random_);
    const auto count = static_cast<std::int64_t>(positions_of(mask).size());
    const std::int64_t size = std::max<std::int64_t>(count + more, 0);
    Shape out_shape = shape;
    if (axis == GPUKERN_AXIS_NONE || shape.empty())
      out_shape = {size};
    else
      out_shape[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(shape) : axis)] = size;
    Array out(placement(), dtype, out_shape, layouts.out);
    Array fill(Placement::Cpu, dtype, {});
    fill_random(out.storage.host, random_);
    fill_random(fill.storage.host, random_);
    expect_compressed({mask, x, axis, out, more % 2 == 0 ? nullptr : &fill}, placement());
  }

  Random random_{20261126};
};

TEST_P(CompressTest, ItemsOfEveryWidth) {
  for (const int bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 100})
    for (const std::int64_t more : {-3, 0, 5})
      for (const std::int64_t n : {0, 1, 31, 33, 4097, 10'000})
        check(kMaskDtypes[0], {n}, bytes_dtype(bytes), {n}, 0, 0.5, more);
}

TEST_P(CompressTest, EveryDtypeOfTheMask) {
  for (const gpukern_dtype dtype : kMaskDtypes)
    for (const Layout layout : kInputLayouts) {
      SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits));
      check(dtype, {29, 3}, bytes_dtype(4), {29, 3}, GPUKERN_AXIS_NONE, 0.5, 1, {layout});
      check(dtype, {29}, bytes_dtype(4), {29, 3}, 0, 0.5, 1, {layout});
    }
}

TEST_P(CompressTest, EveryAxisAndLayout) {
  for (const Layout x : kInputLayouts)
    for (const Layout out : kOutputLayouts)
      for (const std::int32_t axis : {0, 1, 2, -1, GPUKERN_AXIS_NONE}) {
        const Shape shape{6, 5, 7};
        const std::int64_t n =
            axis == GPUKERN_AXIS_NONE ? 210 : shape[static_cast<std::size_t>(axis + 3) % 3];
        check(kMaskDtypes[0], {n}, kInt32, shape, axis, 0.6, 1, {Layout::Contiguous, x, out});
      }
}

TEST_P(CompressTest, ManyItems) {
  for (const double density : {0.0, 0.02, 0.5, 1.0})
    for (const int bytes : {1, 4, 16}) {
      check(kMaskDtypes[0], {200'003}, bytes_dtype(bytes), {200'003}, 0, density, 1);
      check(kMaskDtypes[5], {200, 33}, bytes_dtype(bytes), {200, 33}, GPUKERN_AXIS_NONE, density);
      check(kMaskDtypes[8], {20'000}, bytes_dtype(bytes), {20'000, 3}, 0, density, 2);
    }
}

TEST_P(CompressTest, MasksShorterAndLongerThanTheAxis) {
  for (const std::int64_t n : {0, 1, 5, 4999, 5001, 9000})
    for (const Shape& shape : {Shape{5000}, Shape{5000, 2}})
      check(kMaskDtypes[0], {n}, kInt32, shape, 0, 0.5, 1);
}

TEST_P(CompressTest, EmptyAndZeroDimensionalArrays) {
  for (const std::int64_t more : {0, 1, 40}) {
    check(kMaskDtypes[0], {3}, kInt32, {}, 0, 1, more);
    check(kMaskDtypes[0], {}, kInt32, {}, GPUKERN_AXIS_NONE, 1, more);
    check(kMaskDtypes[0], {4}, kInt32, {0}, 0, 1, more);
    check(kMaskDtypes[0], {4}, kInt32, {0, 3}, 0, 1, more);
    check(kMaskDtypes[0], {4}, kInt32, {2, 0, 3}, 1, 1, more);
    check(kMaskDtypes[0], {4}, kInt32, {4, 0}, 0, 1, more);
    check(kMaskDtypes[0], {0, 3}, kInt32, {0, 3}, GPUKERN_AXIS_NONE, 1, more);
  }
}

TEST_P(CompressTest, FillValueOfAnItem) {
  Array mask(placement(), kMaskDtypes[0], {9});
  Array x(placement(), kInt32, {2, 9, 3});
  Array out(placement(), kInt32, {2, 12, 3});
  Array fill(Placement::Cpu, kInt32, {3});
  fill_mask(mask, random_, 0.5);
  for (Memory* memory : {&x.storage, &fill.storage}) fill_random(memory->host, random_);
  expect_compressed({mask, x, 1, out, &fill}, placement());
}

TEST_P(CompressTest, OutputOverTheInputs) {
  // The larger masks are read in several parts.
  for (const std::int64_t count : {100, 20'000}) {
    Array memory(placement(), kInt32, {3 * count});
    for (const std::int64_t first : {count, 2 * count})  // of the mask, which out reaches or not
      for (const std::int64_t shift : {std::int64_t{0}, std::int64_t{1}, count / 2}) {
        fill_mask(memory, random_, 0.8);
        View x = memory;
        x.shape = {count};
        View out = x;
        out.offset += 4 * shift;
        View mask = x;
        mask.offset += 4 * first;
        expect_compressed({mask, x, 0, out}, placement());
        expect_compressed({out, x, 0, mask}, placement());
        expect_compressed({out, mask, 0, x}, placement());
        x.shape = {count / 4, 4};
        x.strides = {4, 1};
        mask.shape = {count / 4};
        View rows = x;
        rows.offset += 4 * shift;
        expect_compressed({mask, x, 0, rows}, placement());
      }
  }
}

TEST_P(CompressTest, OutputOverTheFillValue) {
  if (placement() == Placement::Cuda)
    GTEST_SKIP() << "the fill value is in host memory, out is not";
  for (const std::int64_t row : {0, 1, 5}) {
    Array mask(placement(), kMaskDtypes[0], {4});
    Array x(placement(), kInt32, {4, 3});
    Array out(placement(), kInt32, {6, 3});
    fill_mask(mask, random_, row == 5 ? 0 : 1);
    fill_mask(out, random_, 1);
    fill_random(x.storage.host, random_);
    // The rows before it are written first.
    const View fill{&out.storage, kInt32, {3}, {1}, kGuard + 12 * row};
    expect_compressed({mask, x, 0, out, &fill}, placement());
  }
}

TEST_P(CompressTest, Errors) {
  const auto expect = [&](gpukern_status status, const std::string& message,
                          const Shape& mask_shape, std::int32_t axis, const Shape& out_shape,
                          gpukern_dtype out_dtype, gpukern_dtype fill_dtype = kFloat32) {
    Array mask(placement(), kMaskDtypes[0], mask_shape);
    Array x(placement(), kFloat32, {4, 3});
    Array out(placement(), out_dtype, out_shape);
    Array fill(Placement::Cpu, fill_dtype, {});
    expect_error(CompressCall{mask, x, axis, out, &fill}.run(exec_at(placement())), status,
                 message);
  };
  expect(GPUKERN_VALUE_ERROR,
         "compress: mask must have one dimension if an axis is given, got shape (4, 3)", {4, 3}, 0,
         {2, 3}, kFloat32);
  expect(GPUKERN_VALUE_ERROR,
         "compress: mask must have one dimension, or without an axis the shape", {3, 4},
         GPUKERN_AXIS_NONE, {2}, kFloat32);
  expect(GPUKERN_VALUE_ERROR,
         "compress: mask must have one dimension, or without an axis the shape", {},
         GPUKERN_AXIS_NONE, {2}, kFloat32);
  expect(GPUKERN_AXIS_ERROR, "axis 2 is out of bounds for array of dimension 2", {4}, 2, {2, 3},
         kFloat32);
  expect(GPUKERN_VALUE_ERROR, "compress: out must have shape (2, 3), got (2, 2)", {4}, 0, {2, 2},
         kFloat32);
  expect(GPUKERN_VALUE_ERROR, "compress: out must have shape (4, 0), got (4,)", {4}, 1, {4},
         kFloat32);
  expect(GPUKERN_TYPE_ERROR, "compress: out must have x's dtype float32, got int32", {4}, 0, {2, 3},
         kInt32);
  expect(GPUKERN_TYPE_ERROR, "compress: fill_value must have x's dtype float32, got int32", {4}, 0,
         {2, 3}, kFloat32, kInt32);
}

GPUKERN_INSTANTIATE_PLACEMENTS(CompressTest);

}  // namespace
}  // namespace gpukern_test

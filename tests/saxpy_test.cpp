// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Results of saxpy, bit by bit, and its errors.

#include <algorithm>
#include <iterator>
#include <vector>

#include "saxpy_oracle.hpp"

namespace gpukern_test {
namespace {

class SaxpyTest : public SaxpyTypeTest {
 protected:
  [[nodiscard]] Array array(const Shape& shape, Layout layout = Layout::Contiguous) const {
    return {placement(), type().dtype, shape, layout};
  }

  /// An element near one, or a small integer: sums do not overflow.
  Bytes moderate_scalar() {
    Bytes scalar(static_cast<std::size_t>(item_bytes(type().dtype)));
    fill_random(scalar, random_);
    if (type().is_float()) make_moderate(scalar);
    return scalar;
  }

  /// Turns random bits into numbers within a few powers of two of one.
  void make_moderate(Bytes& bytes) {
    const auto size = static_cast<std::size_t>(type().component_bytes);
    const auto one = special_bits(type())[5];
    const std::uint64_t normal = std::uint64_t{1} << type().fraction_bits;
    for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &bytes[at], size);
      const std::uint64_t sign = bits >> (size * 8 - 1) << (size * 8 - 1);
      bits = (bits % normal) | sign;
      bits += one + normal * (random_() % 5) - 2 * normal;
      std::memcpy(&bytes[at], &bits, size);
    }
  }

  void check(const Shape& shape, Layout x_layout = Layout::Contiguous,
             Layout y_layout = Layout::Contiguous, Layout out_layout = Layout::Contiguous) {
    const Array x = array(shape, x_layout);
    const Array y = array(shape, y_layout);
    const Array out = array(shape, out_layout);
    for (const View* view : {static_cast<const View*>(&x), static_cast<const View*>(&y),
                             static_cast<const View*>(&out)})
      fill_random(view->memory->host, random_);
    expect_saxpy({type(), moderate_scalar(), x, y, out}, placement());
  }

  Random random_{42};
};

TEST_P(SaxpyTest, EverySize) {
  for (const std::int64_t size : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 65, 4096, 70001}) {
    SCOPED_TRACE("size " + std::to_string(size));
    check({size});
  }
  check({});
}

TEST_P(SaxpyTest, EveryPairOfSpecialValues) {
  const auto patterns = special_bits(type());
  const auto size = static_cast<std::size_t>(type().component_bytes);
  const auto parts = static_cast<std::size_t>(item_bytes(type().dtype)) / size;
  const auto count = static_cast<std::int64_t>(patterns.size());
  for (const std::uint64_t pattern : patterns) {
    const Array x = array({count, count});
    const Array y = array({count, count});
    const Array out = array({count, count});
    Bytes a(parts * size);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::uint64_t other = part == 0 ? pattern : patterns[random_() % patterns.size()];
      std::memcpy(&a[part * size], &other, size);
      for (std::size_t k = 0; k < patterns.size() * patterns.size(); ++k) {
        const std::size_t at = kGuard + (k * parts + part) * size;
        std::memcpy(&x.memory->host[at], &patterns[(k / patterns.size() + part) % patterns.size()],
                    size);
        std::memcpy(&y.memory->host[at], &patterns[(k + 3 * part) % patterns.size()], size);
      }
    }
    SCOPED_TRACE("a of bits " + std::to_string(pattern));
    expect_saxpy({type(), a, x, y, out}, placement());
  }
}

class SaxpyRoundingTest : public SaxpyTest {};

TEST_P(SaxpyRoundingTest, CancellationAndTies) {
  const auto size = static_cast<std::size_t>(type().component_bytes);
  const Bytes zero(16);
  for (int round = 0; round < 8; ++round) {
    const Array x = array({5000});
    const Array y = array({5000});
    const Array out = array({5000});
    fill_random(x.memory->host, random_);
    make_moderate(x.memory->host);
    const Bytes a = moderate_scalar();
    // y is -(a * x), rounded, plus or minus a few units, so that the result shows every rounding.
    for (const auto at : x.offsets()) {
      std::byte* element = y.memory->host.data() + at;
      type().oracle(a.data(), x.memory->host.data() + at, zero.data(), element);
      for (std::int64_t part = 0; part < x.item(); part += type().component_bytes) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, element + part, size);
        bits = (bits + random_() % 4) ^ (std::uint64_t{1} << (size * 8 - 1));
        std::memcpy(element + part, &bits, size);
      }
    }
    expect_saxpy({type(), a, x, y, out}, placement());
  }
}

TEST_P(SaxpyTest, EveryLayout) {
  for (const Layout x : kInputLayouts)
    for (const Layout y : kInputLayouts)
      for (const Layout out : kOutputLayouts) {
        SCOPED_TRACE("layouts " + std::to_string(static_cast<int>(x)) + ", " +
                     std::to_string(static_cast<int>(y)) + ", " +
                     std::to_string(static_cast<int>(out)));
        check({3, 5, 17}, x, y, out);
      }
}

TEST_P(SaxpyTest, StridedOverManyBlocks) {
  check({70001, 2}, Layout::Strided, Layout::Fortran, Layout::Contiguous);
  check({2, 70001}, Layout::Fortran, Layout::Reversed, Layout::Strided);
  check({70001}, Layout::Unaligned, Layout::Contiguous, Layout::Unaligned);
  check({70001}, Layout::Contiguous, Layout::Broadcast, Layout::Contiguous);
  for (const std::int64_t count : {65535, 65536, 66560})
    check({count}, Layout::Strided, Layout::Contiguous, Layout::Contiguous);
}

TEST_P(SaxpyTest, TransposedOverManyBlocks) {
  for (const Shape& shape : {Shape{64, 128}, Shape{133, 259}, Shape{1, 70001}, Shape{20001, 3},
                             Shape{36, 5, 132}, Shape{5, 3, 2, 1001}, Shape{4000, 3, 3}})
    for (const Layout x : {Layout::Contiguous, Layout::Fortran, Layout::Broadcast,
                           Layout::Unaligned, Layout::Reversed})
      for (const Layout y : {Layout::Contiguous, Layout::Fortran, Layout::Strided})
        for (const Layout out : {Layout::Contiguous, Layout::Fortran}) {
          SCOPED_TRACE("layouts " + std::to_string(static_cast<int>(x)) + ", " +
                       std::to_string(static_cast<int>(y)) + ", " +
                       std::to_string(static_cast<int>(out)));
          check(shape, x, y, out);
        }
}

// Where rows of out are not aligned, the GPU stages transposed operands, and computes in place.
TEST_P(SaxpyTest, TransposedMatricesOfOddSizes) {
  for (const auto& [rows, columns] : {std::pair{133, 259}, {64, 131}, {131, 264}}) {
    SCOPED_TRACE(std::to_string(rows) + " by " + std::to_string(columns));
    const Array memory = array({3, columns, rows});
    View x = memory;
    std::swap(x.shape[1], x.shape[2]);
    std::swap(x.strides[1], x.strides[2]);
    const Array y = array({3, rows, columns});
    const Array out = array({3, rows, columns});
    for (const Array* each : {&memory, &y, &out}) fill_random(each->memory->host, random_);
    expect_saxpy({type(), moderate_scalar(), x, y, out}, placement());
    expect_saxpy({type(), moderate_scalar(), x, x, out}, placement());
    expect_saxpy({type(), moderate_scalar(), x, y, y}, placement());
  }
}

TEST_P(SaxpyTest, ManyDimensions) {
  Shape shape(GPUKERN_MAX_NDIM, 1);
  shape[0] = 3;
  shape[30] = 2;
  shape[63] = 5;
  check(shape, Layout::Strided, Layout::Reversed, Layout::Strided);
}

TEST_P(SaxpyTest, EmptyOfManyShapes) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 5, 2}}) check(shape);
}

TEST_P(SaxpyTest, OutMayOverlapTheInputsInAnyWay) {
  const auto item = item_bytes(type().dtype);
  for (const std::int64_t shift : {-65, -1, 0, 1, 32}) {
    for (const std::int64_t step : {1, 2, -1}) {
      SCOPED_TRACE("shift " + std::to_string(shift) + ", step " + std::to_string(step));
      const Array x = array({8000});
      const Array y = array({3000});
      fill_random(x.memory->host, random_);
      fill_random(y.memory->host, random_);
      const std::int64_t middle = kGuard + 1000 * item;
      const View in{x.memory, type().dtype, {3000}, {1}, middle};
      const View out{
          x.memory, type().dtype, {3000}, {step}, middle + (shift + (step < 0 ? 2999 : 0)) * item};
      const Bytes a = moderate_scalar();
      expect_saxpy({type(), a, in, y, out}, placement());
      expect_saxpy({type(), a, y, in, out}, placement());
      expect_saxpy({type(), a, in, in, out}, placement());
    }
  }
}

TEST_P(SaxpyTest, OutMayOverlapAFactorOfRowsOrColumns) {
  for (const Shape& strides : {Shape{1, 0}, Shape{0, 1}, Shape{0, 0}})
    for (const std::int64_t first : {0, 7, 700}) {
      const Array x = array({30, 40});
      const Array out = array({30, 40});
      fill_random(x.memory->host, random_);
      fill_random(out.memory->host, random_);
      const View repeated{
          out.memory, type().dtype, {30, 40}, strides, kGuard + first * item_bytes(type().dtype)};
      expect_saxpy({type(), moderate_scalar(), x, repeated, out}, placement());
      expect_saxpy({type(), moderate_scalar(), repeated, x, out}, placement());
    }
}

TEST_P(SaxpyTest, OutMayOverlapByAFractionOfAnElement) {
  const Array x = array({3000});
  fill_random(x.memory->host, random_);
  View out = x;
  out.offset += 1;
  expect_saxpy({type(), moderate_scalar(), x, x, out}, placement());
}

TEST_P(SaxpyTest, OperandsMayStartAnywhere) {
  for (std::int64_t shift = 1; shift <= 16; ++shift) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    for (const bool all : {false, true}) {
      const Array x = array({1003});
      const Array y = array({1003});
      const Array out = array({1003});
      fill_random(x.memory->host, random_);
      fill_random(y.memory->host, random_);
      View shifted_x = x;
      View shifted_y = y;
      View shifted_out = out;
      shifted_x.offset += shift;
      if (all) shifted_y.offset += shift;
      if (all) shifted_out.offset += shift;
      expect_saxpy({type(), moderate_scalar(), shifted_x, shifted_y, shifted_out}, placement());
    }
  }
}

TEST_P(SaxpyTest, RefusesMismatchedArguments) {
  const Array x = array({4, 3});
  const Array good = array({4, 3});
  const Bytes a(16);
  for (const Shape& shape : {Shape{4}, Shape{3, 4}, Shape{4, 3, 1}}) {
    const Array bad = array(shape);
    expect_error(Saxpy{type(), a, x, bad, good}.run(placement()), GPUKERN_VALUE_ERROR,
                 "saxpy: y must broadcast to shape (4, 3), got ");
    expect_error(Saxpy{type(), a, x, good, bad}.run(placement()), GPUKERN_VALUE_ERROR,
                 "saxpy: x must broadcast to shape ");
  }
  const Array bytes(placement(), {GPUKERN_UINT, 8, 16}, {4, 3});
  const std::string name = type().name;
  expect_error(Saxpy{type(), a, x, bytes, good}.run(placement()), GPUKERN_TYPE_ERROR,
               "saxpy: y must have the dtype of x, " + name + ", got uint8x16");
  expect_error(Saxpy{type(), a, x, good, bytes}.run(placement()), GPUKERN_TYPE_ERROR,
               "saxpy: out must have the dtype of x, " + name + ", got uint8x16");
  const Array repeated = array({4, 3}, Layout::Broadcast);
  expect_error(Saxpy{type(), a, x, good, repeated}.run(placement()), GPUKERN_VALUE_ERROR,
               "saxpy: out ");
  expect_error(Saxpy{type(), {}, x, good, good}.run(placement()), GPUKERN_VALUE_ERROR,
               "saxpy: a must not be NULL");
}

std::vector<SaxpyType> rounding_types() {
  std::vector<SaxpyType> types;
  std::copy_if(std::begin(kSaxpyTypes), std::end(kSaxpyTypes), std::back_inserter(types),
               [](const SaxpyType& type) { return type.is_float(); });
  return types;
}

GPUKERN_INSTANTIATE_SAXPY_TYPES(SaxpyTest, kSaxpyTypes);
GPUKERN_INSTANTIATE_SAXPY_TYPES(SaxpyRoundingTest, rounding_types());

class SaxpyPlacementTest : public PlacementTest {};

TEST_P(SaxpyPlacementTest, RefusesOtherDtypes) {
  const Bytes a(16);
  for (const gpukern_dtype dtype : {gpukern_dtype{GPUKERN_INT, 8, 1},
                                    {GPUKERN_UINT, 32, 1},
                                    {GPUKERN_BOOL, 8, 1},
                                    {GPUKERN_FLOAT, 32, 2},
                                    {GPUKERN_FLOAT, 128, 1},
                                    {GPUKERN_OPAQUE, 64, 1}}) {
    const Array x(placement(), dtype, {4});
    expect_error(Saxpy{kSaxpyTypes[0], a, x, x, x}.run(placement()), GPUKERN_TYPE_ERROR,
                 "saxpy: x must have one of the dtypes float32, float64, float16, bfloat16, "
                 "complex64, complex128, int32, int64, got ");
  }
}

TEST_P(SaxpyPlacementTest, RoundsOnceWhereDoubleWouldRoundTwice) {
  // a * x + y is just below the midpoint of two floats. In double it becomes the midpoint.
  const float a = 0x1.000002p-24F;
  const Array x(placement(), {GPUKERN_FLOAT, 32, 1}, {1});
  const Array y(placement(), {GPUKERN_FLOAT, 32, 1}, {1});
  store(x.memory->host, kGuard, 0x1.fffffcp-1F);
  store(y.memory->host, kGuard, 0x1.000002p+0F);
  for (const View* view : {static_cast<const View*>(&x), static_cast<const View*>(&y)})
    view->memory->commit();
  const auto bytes = std::as_bytes(std::span(&a, 1));
  ASSERT_EQ((Saxpy{kSaxpyTypes[2], bytes, x, y, y}.run(placement())), GPUKERN_SUCCESS);
  y.memory->fetch();
  EXPECT_EQ(load<float>(y.memory->host, kGuard), 0x1.000002p+0F);
}

TEST_P(SaxpyPlacementTest, NanIsCanonical) {
  const std::uint64_t canonical[] = {
      0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000, 0x7fc00000, 0x7ff8000000000000};
  for (std::size_t k = 0; k < std::size(canonical); ++k) {
    const SaxpyType& type = kSaxpyTypes[k];
    SCOPED_TRACE(type.name);
    const Array x(placement(), type.dtype, {40});
    std::fill(x.memory->host.begin(), x.memory->host.end(), std::byte{0xff});
    x.memory->commit();
    const Bytes zero(16);
    ASSERT_EQ((Saxpy{type, zero, x, x, x}.run(placement())), GPUKERN_SUCCESS);
    x.memory->fetch();
    for (std::int64_t at = kGuard; at < kGuard + 40 * x.item(); at += type.component_bytes) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &x.memory->host[static_cast<std::size_t>(at)],
                  static_cast<std::size_t>(type.component_bytes));
      ASSERT_EQ(bits, canonical[k]);
    }
  }
}

GPUKERN_INSTANTIATE_PLACEMENTS(SaxpyPlacementTest);

}  // namespace
}  // namespace gpukern_test

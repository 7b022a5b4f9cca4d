// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gpukern.hpp: the types it accepts, the arguments it passes to the C ABI, its exceptions and the
// ownership of memory. The tests of the C ABI cover the results of operations.

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpukern/gpukern.hpp"

// A program may have these for its own calls of the C ABI.
[[maybe_unused]] static void check(gpukern_status) {}
[[maybe_unused]] static void address(const gpukern_tensor&) {}

namespace {

using gpukern::DeviceBuffer;
using gpukern::dtype_of;
using gpukern::gather;
using gpukern::Mode;
using gpukern::saxpy;
using gpukern::TensorRef;

struct Half {
  std::uint16_t bits;
};

struct Point {
  float x;
  std::int8_t tag;
  friend bool operator==(const Point&, const Point&) = default;
};

}  // namespace

template <>
// NOLINTNEXTLINE(readability-identifier-naming)
inline constexpr gpukern_dtype gpukern::dtype_of<Half> = gpukern::kFloat16;

namespace {

// ---- compile-time checks -----------------------------------------------------------------------

constexpr bool is_dtype(gpukern_dtype dtype, int code, int bits, int lanes = 1) {
  return dtype.code == code && dtype.bits == bits && dtype.lanes == lanes;
}

static_assert(is_dtype(dtype_of<bool>, GPUKERN_BOOL, 8));
static_assert(is_dtype(dtype_of<std::int8_t>, GPUKERN_INT, 8));
static_assert(is_dtype(dtype_of<std::uint64_t>, GPUKERN_UINT, 64));
static_assert(is_dtype(dtype_of<float>, GPUKERN_FLOAT, 32));
static_assert(is_dtype(dtype_of<double>, GPUKERN_FLOAT, 64));
static_assert(is_dtype(dtype_of<std::complex<float>>, GPUKERN_COMPLEX, 64));
static_assert(is_dtype(dtype_of<std::complex<double>>, GPUKERN_COMPLEX, 128));
static_assert(is_dtype(dtype_of<Half>, GPUKERN_FLOAT, 16));
static_assert(is_dtype(dtype_of<Point>, GPUKERN_OPAQUE, 8, sizeof(Point)));

using Floats = std::vector<float>;
static_assert(gpukern::Output<Floats&>);
static_assert(gpukern::Output<std::span<float>>);
static_assert(gpukern::Output<DeviceBuffer<float>&>);
static_assert(gpukern::Output<TensorRef<float>>);
static_assert(!gpukern::Output<Floats>, "a temporary would be lost");
static_assert(!gpukern::Output<const Floats&>);
static_assert(!gpukern::Output<const DeviceBuffer<float>&>);
static_assert(!gpukern::Output<TensorRef<const float>>);
static_assert(!gpukern::TensorLike<std::vector<bool>&>, "its elements are not bool objects");
static_assert(!gpukern::TensorLike<std::list<float>&>);
static_assert(!gpukern::TensorLike<std::vector<std::string>&>);
template <class Out>
concept AxpbyOutput = requires(const Floats& x, Out out) { gpukern::axpby(x, x, x, x, out); };
template <class Out>
concept FmaOutput = requires(const Floats& x, Out out) { gpukern::fma(x, x, x, out); };
static_assert(AxpbyOutput<Floats&> && !AxpbyOutput<const Floats&>);
static_assert(FmaOutput<Floats&> && !FmaOutput<const Floats&>);

using Lists = std::vector<Floats>;
template <class Outs>
concept ManyOutputs = requires(const Lists& x, Outs out) { gpukern::saxpy_many(2, x, x, out); };
template <class Outs>
concept ListOutputs = requires(const Lists& x, Outs out) { gpukern::SaxpyList<float>(x, x, out); };
static_assert(ManyOutputs<Lists&> && !ManyOutputs<const Lists&>);
static_assert(ListOutputs<Lists&> && !ListOutputs<const Lists&>);
static_assert(ManyOutputs<const std::vector<TensorRef<float>>&>);

static_assert(gpukern::InputOf<Floats, float>);
static_assert(!gpukern::InputOf<Floats, double>);
static_assert(gpukern::Index<std::uint8_t> && !gpukern::Index<bool> && !gpukern::Index<float>);

static_assert(!std::is_copy_constructible_v<DeviceBuffer<float>>);
static_assert(!std::is_copy_assignable_v<DeviceBuffer<float>>);
static_assert(std::is_nothrow_move_constructible_v<DeviceBuffer<float>>);
static_assert(std::is_nothrow_move_assignable_v<DeviceBuffer<float>>);

// ---- the library ------------------------------------------------------------------------------

TEST(Hpp, VersionIsTheHeaders) {
  EXPECT_EQ(gpukern::version(), std::to_string(GPUKERN_VERSION_MAJOR) + "." +
                                    std::to_string(GPUKERN_VERSION_MINOR) + "." +
                                    std::to_string(GPUKERN_VERSION_PATCH));
  EXPECT_TRUE(gpukern::abi_matches());
}

TEST(Hpp, CudaInfoAgreesWithDeviceCount) {
  const gpukern_cuda_info cuda = gpukern::cuda_info();
  EXPECT_EQ(cuda.device_count, gpukern::device_count());
  EXPECT_EQ(std::string(cuda.reason).empty(), cuda.device_count > 0);
}

TEST(Hpp, DeviceInfoOfNoDeviceThrows) {
  EXPECT_THROW(gpukern::device_info(gpukern::device_count()), gpukern::Error);
}

TEST(Hpp, CheckThrowsTheClassOfTheStatus) {
  EXPECT_NO_THROW(gpukern::check(GPUKERN_SUCCESS));
  EXPECT_THROW(gpukern::check(GPUKERN_VALUE_ERROR), gpukern::ValueError);
  EXPECT_THROW(gpukern::check(GPUKERN_TYPE_ERROR), gpukern::TypeError);
  EXPECT_THROW(gpukern::check(GPUKERN_INDEX_ERROR), gpukern::IndexError);
  EXPECT_THROW(gpukern::check(GPUKERN_AXIS_ERROR), gpukern::AxisError);
  EXPECT_THROW(gpukern::check(GPUKERN_MEMORY_ERROR), gpukern::MemoryError);
  EXPECT_THROW(gpukern::check(GPUKERN_DEVICE_ERROR), gpukern::DeviceError);
  EXPECT_THROW(gpukern::check(GPUKERN_CUDA_ERROR), gpukern::CudaError);
  EXPECT_THROW(gpukern::check(GPUKERN_CONTEXT_LOST), gpukern::ContextLostError);
  EXPECT_THROW(gpukern::check(GPUKERN_CANCELLED), gpukern::Cancelled);
  try {
    gpukern::check(GPUKERN_INTERNAL_ERROR);
    FAIL() << "nothing was thrown";
  } catch (const gpukern::Error& error) {
    EXPECT_EQ(error.status(), GPUKERN_INTERNAL_ERROR);
  }
}

// ---- operations on host memory ----------------------------------------------------------------

TEST(HppGather, TakesEveryKindOfRange) {
  const Floats source{0, 10, 20, 30};
  std::array<float, 3> out{};
  gather(source, std::vector<std::int64_t>{3, -4, 1}, out);
  EXPECT_EQ(out, (std::array<float, 3>{30, 0, 10}));

  const float raw[] = {5, 6, 7};
  const std::array<std::uint8_t, 3> index{2, 0, 1};
  gather(raw, index, std::span(out));
  EXPECT_EQ(out, (std::array<float, 3>{7, 5, 6}));

  Floats none;
  gather(source, std::vector<int>{}, none);
}

TEST(HppGather, ModesAndFillValue) {
  const std::vector<int> source{1, 2, 3};
  const std::vector<int> index{-1, 3, -4};
  std::vector<int> out(3);
  gather(source, index, out, {.mode = Mode::wrap});
  EXPECT_EQ(out, (std::vector<int>{3, 1, 3}));
  gather(source, index, out, {.mode = Mode::clip});
  EXPECT_EQ(out, (std::vector<int>{1, 3, 1}));
  gather(source, index, out, {.mode = Mode::fill, .fill_value = 9});
  EXPECT_EQ(out, (std::vector<int>{3, 9, 9}));
  gather(source, index, out, {.mode = Mode::fill});
  EXPECT_EQ(out, (std::vector<int>{3, 0, 0}));
}

TEST(HppGather, IndexErrorHasTheMessageAndLeavesOutUnchanged) {
  const std::vector<int> source{1, 2, 3, 4, 5};
  std::vector<int> out{7, 7};
  try {
    gather(source, std::vector<int>{0, 5}, out);
    FAIL() << "nothing was thrown";
  } catch (const gpukern::IndexError& error) {
    EXPECT_STREQ(error.what(), "index 5 is out of bounds for axis 0 with size 5");
    EXPECT_EQ(error.status(), GPUKERN_INDEX_ERROR);
  }
  EXPECT_EQ(out, (std::vector<int>{7, 7}));
}

TEST(HppGather, AxesShapesAndStrides) {
  const std::vector<std::int16_t> matrix{1, 2, 3, 4, 5, 6};
  const std::vector<int> index{2, 0};
  std::vector<std::int16_t> out(4);
  gather(TensorRef(matrix, {2, 3}), index, TensorRef(out, {2, 2}), {.axis = -1});
  EXPECT_EQ(out, (std::vector<std::int16_t>{3, 1, 6, 4}));

  const auto transposed = TensorRef(matrix, {3, 2}).strided({1, 3});
  gather(transposed, index, TensorRef(out, {2, 2}));
  EXPECT_EQ(out, (std::vector<std::int16_t>{3, 6, 1, 4}));

  gather(TensorRef(matrix, {2, 3}), std::vector<int>{5, -1, 0, 3}, out,
         {.axis = gpukern::kFlattened});
  EXPECT_EQ(out, (std::vector<std::int16_t>{6, 6, 1, 4}));
  EXPECT_THROW(gather(matrix, index, out, {.axis = 1}), gpukern::AxisError);
  EXPECT_THROW(gather(matrix, index, out), gpukern::ValueError) << "out has another shape";
}

TEST(HppGather, IndicesOfSeveralAxes) {
  std::vector<int> table{0, 1, 2, 10, 11, 12};
  const TensorRef matrix(table, {2, 3});
  const std::vector<int> i{1, 0};
  const std::array<std::uint8_t, 2> j{2, 1};
  std::vector<int> out(2);
  gather(matrix, std::tie(i, j), out);
  EXPECT_EQ(out, (std::vector<int>{12, 1}));
  gather(matrix, std::tuple(std::vector{1, 2}, std::vector{0}), out,
         {.mode = Mode::fill, .fill_value = 7});
  EXPECT_EQ(out, (std::vector<int>{10, 7}));
  EXPECT_THROW(gather(matrix, std::tie(j, i), out), gpukern::IndexError);

  gpukern::scatter(matrix, std::tie(i, j), std::vector{5, 6});
  EXPECT_EQ(table, (std::vector<int>{0, 6, 2, 10, 11, 5}));
  std::vector<int> copy(6);
  gpukern::scatter(matrix, std::tie(i, j), std::vector{1, 1}, TensorRef(copy, {2, 3}),
                   {.reduce = gpukern::Reduction::add});
  EXPECT_EQ(copy, (std::vector<int>{0, 7, 2, 10, 11, 6}));
}

TEST(HppGather, MovesStructs) {
  const std::vector<Point> source{{1.5F, 1}, {2.5F, 2}};
  std::vector<Point> out(3);
  gather(source, std::vector<int>{1, 9, 0}, out, {.mode = Mode::fill, .fill_value = {-1, -1}});
  EXPECT_EQ(out, (std::vector<Point>{{2.5F, 2}, {-1, -1}, {1.5F, 1}}));
}

TEST(HppSaxpy, ConvertsTheScalarToTheElement) {
  Floats x{1, 2, 3};
  const Floats y{10, 20, 30};
  saxpy(2, x, y, x);
  EXPECT_EQ(x, (Floats{12, 24, 36}));

  std::vector<std::complex<double>> z{{0, 1}};
  saxpy({0, 1}, z, z, z);
  EXPECT_EQ(z[0], (std::complex<double>{-1, 1}));
}

TEST(HppSaxpy, AcceptsACustomHalfType) {
  const std::vector<Half> x{{0x3c00}};  // 1
  std::vector<Half> out(1);
  saxpy(Half{0x4000}, x, x, out);  // 2 * 1 + 1
  EXPECT_EQ(out[0].bits, 0x4200);
}

TEST(HppSaxpy, RefusesOtherElementsAndShapes) {
  std::vector<Point> points(2);
  EXPECT_THROW(saxpy(Point{}, points, points, points), gpukern::TypeError);
  Floats out(2);
  EXPECT_THROW(saxpy(1.0F, Floats(3), Floats(3), out), gpukern::ValueError);
}

TEST(Hpp, SaxpyMany) {
  const std::vector<Floats> x{{1, 2, 3}, {4}};
  std::vector<Floats> y{{10, 20, 30}, {40}};
  gpukern::saxpy_many(2, x, y, y);
  EXPECT_EQ(y, (std::vector<Floats>{{12, 24, 36}, {48}}));
  std::vector<TensorRef<float>> refs{TensorRef(y[0]), TensorRef(y[1])};
  gpukern::SaxpyList<float> list(x, refs, refs);
  const gpukern::SaxpyList<float> moved = std::move(list);
  moved(-2.0F);
  EXPECT_EQ(y, (std::vector<Floats>{{10, 20, 30}, {40}}));
  EXPECT_THROW(gpukern::saxpy_many(1.0F, x, std::vector<Floats>(1), y), gpukern::ValueError);
}

TEST(Hpp, AxpbyAndFma) {
  const std::vector<float> x{1, 2, 3};
  const std::vector<double> y{10, 20, 30};
  std::vector<double> wide(3);
  gpukern::axpby(2.0F, x, 0.5, y, wide);
  EXPECT_EQ(wide, (std::vector<double>{7, 14, 21}));
  wide.assign(3, 0);
  gpukern::axpby(Half{0x4000}, x, 0.5, y, wide);  // Half{0x4000} is 2
  EXPECT_EQ(wide, (std::vector<double>{7, 14, 21}));
  std::vector<float> table(6);
  const std::vector<float> rows{1, 10};
  gpukern::fma(gpukern::TensorRef(rows, {2, 1}), x, 1.0F, gpukern::TensorRef(table, {2, 3}));
  EXPECT_EQ(table, (std::vector<float>{2, 3, 4, 11, 21, 31}));
  EXPECT_THROW(gpukern::fma(x, x, x, wide, {.rounding = gpukern::Rounding::stochastic}),
               gpukern::TypeError);
}

TEST(Hpp, ReductionsOfBags) {
  const std::vector<float> source{1, 2, 4, 8};
  const std::vector<int> index{0, 3, 3, 9};
  const std::vector<std::int64_t> offsets{0, 2, 2, 4};
  Floats out(3);
  gpukern::gather_reduce(source, index, offsets, out, {.mode = Mode::fill});
  EXPECT_EQ(out, (Floats{9, 0, 8}));
  gpukern::gather_reduce(source, index, offsets, Floats{2, 1, 0.5F, 0}, out, {.mode = Mode::clip});
  EXPECT_EQ(out, (Floats{10, 0, 4}));
  gpukern::segment_reduce(source, offsets, out, {.reduce = gpukern::Reduction::mean});
  EXPECT_EQ(out, (Floats{1.5, 0, 6}));
  EXPECT_THROW(gpukern::segment_reduce(source, std::vector{2, 1}, std::span(out).first(1)),
               gpukern::ValueError);
  EXPECT_THROW(gpukern::gather_reduce(source, index, offsets, out), gpukern::IndexError);
}

TEST(Hpp, SelectionsByAMask) {
  const std::vector<std::uint8_t> mask{0, 1, 1, 0, 1, 0};
  EXPECT_EQ(gpukern::count_nonzero(mask), 3);
  std::vector<std::int64_t> positions(4);
  gpukern::nonzero(mask, TensorRef(positions, {1, 4}), {.fill_value = -1});
  EXPECT_EQ(positions, (std::vector<std::int64_t>{1, 2, 4, -1}));
  const Floats x{1, 2, 3, 4, 5, 6};
  Floats out(4);
  gpukern::compress(mask, x, out, {.fill_value = 0.5F});
  EXPECT_EQ(out, (Floats{2, 3, 5, 0.5F}));
  gpukern::compress(std::vector<std::uint8_t>{0, 1}, TensorRef(x, {2, 3}), TensorRef(out, {1, 3}),
                    {.axis = 0});
  EXPECT_EQ(out, (Floats{4, 5, 6, 0.5F}));
  EXPECT_THROW(gpukern::nonzero(mask, TensorRef(positions, {2, 2})), gpukern::ValueError);
}

}  // namespace

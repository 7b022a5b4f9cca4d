// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy element by element. std::fma rounds exactly once by definition, and the C library complies
// with or without fma instructions; the 16-bit types are converted by plain arithmetic.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <tuple>

#include "support.hpp"

namespace gpukern_test {

template <class Real>
Real fma_canonical(Real a, Real x, Real y) {
  const Real result = std::fma(a, x, y);
  return std::isnan(result) ? std::numeric_limits<Real>::quiet_NaN() : result;
}

/// A 16-bit floating-point format; conversions go through double, which holds all its values.
template <int FractionBits, int MinExponent>
struct Float16 {
  static constexpr int kExponentMask = (1 << (15 - FractionBits)) - 1;
  static constexpr int kFractionMask = (1 << FractionBits) - 1;
  std::uint16_t bits;

  [[nodiscard]] float decode() const {
    const int exponent = bits >> FractionBits & kExponentMask;
    const int fraction = bits & kFractionMask;
    double magnitude = 0;
    if (exponent == kExponentMask)
      magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      magnitude = std::ldexp(fraction, MinExponent - FractionBits);
    else
      magnitude =
          std::ldexp(fraction + kFractionMask + 1, exponent - 1 + MinExponent - FractionBits);
    return static_cast<float>((bits & 0x8000U) != 0 ? -magnitude : magnitude);
  }

  static Float16 encode(float value) {
    const std::uint16_t infinity = kExponentMask << FractionBits;
    if (std::isnan(value)) return {static_cast<std::uint16_t>(infinity | 1 << (FractionBits - 1))};
    const std::uint16_t sign = std::signbit(value) ? 0x8000U : 0U;
    if (std::isinf(value)) return {static_cast<std::uint16_t>(sign | infinity)};
    const double magnitude = std::fabs(static_cast<double>(value));
    int exponent = MinExponent;
    if (magnitude >= std::ldexp(1.0, MinExponent)) exponent = std::ilogb(magnitude);
    // In units of the last place, the bits of a magnitude are its rank among all.
    const double units = std::nearbyint(std::ldexp(magnitude, FractionBits - exponent));
    const double rank = units + std::ldexp(exponent - MinExponent, FractionBits);
    return {static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(std::min<double>(rank, infinity)))};
  }
};
using Half = Float16<10, -14>;
using BFloat16 = Float16<7, -126>;

inline float multiply_add(float a, float x, float y) { return fma_canonical(a, x, y); }
inline double multiply_add(double a, double x, double y) { return fma_canonical(a, x, y); }

template <int FractionBits, int MinExponent>
Float16<FractionBits, MinExponent> multiply_add(Float16<FractionBits, MinExponent> a,
                                                Float16<FractionBits, MinExponent> x,
                                                Float16<FractionBits, MinExponent> y) {
  return a.encode(std::fma(a.decode(), x.decode(), y.decode()));
}

template <class Real>
struct Complex {
  Real re;
  Real im;
};

template <class Real>
Complex<Real> multiply_add(Complex<Real> a, Complex<Real> x, Complex<Real> y) {
  return {fma_canonical(-a.im, x.im, std::fma(a.re, x.re, y.re)),
          fma_canonical(a.im, x.re, std::fma(a.re, x.im, y.im))};
}

inline std::int64_t multiply_add(std::int64_t a, std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(x) +
                                   static_cast<std::uint64_t>(y));
}
inline std::int32_t multiply_add(std::int32_t a, std::int32_t x, std::int32_t y) {
  return static_cast<std::int32_t>(multiply_add(std::int64_t{a}, std::int64_t{x}, std::int64_t{y}));
}

/// Computes one element from bytes into bytes.
using ElementOracle = void (*)(const std::byte* a, const std::byte* x, const std::byte* y,
                               std::byte* out);

template <class T>
void element_oracle(const std::byte* a, const std::byte* x, const std::byte* y, std::byte* out) {
  T values[3];
  std::memcpy(&values[0], a, sizeof(T));
  std::memcpy(&values[1], x, sizeof(T));
  std::memcpy(&values[2], y, sizeof(T));
  const T result = multiply_add(values[0], values[1], values[2]);
  std::memcpy(out, &result, sizeof(T));
}

struct SaxpyType {
  const char* name;
  gpukern_dtype dtype;
  int component_bytes;  ///< of a real or imaginary part
  int fraction_bits;    ///< 0 for integers
  ElementOracle oracle;

  [[nodiscard]] bool is_float() const { return fraction_bits > 0; }
};

inline constexpr SaxpyType kSaxpyTypes[] = {
    {"float16", {GPUKERN_FLOAT, 16, 1}, 2, 10, element_oracle<Half>},
    {"bfloat16", {GPUKERN_BFLOAT, 16, 1}, 2, 7, element_oracle<BFloat16>},
    {"float32", {GPUKERN_FLOAT, 32, 1}, 4, 23, element_oracle<float>},
    {"float64", {GPUKERN_FLOAT, 64, 1}, 8, 52, element_oracle<double>},
    {"complex64", {GPUKERN_COMPLEX, 64, 1}, 4, 23, element_oracle<Complex<float>>},
    {"complex128", {GPUKERN_COMPLEX, 128, 1}, 8, 52, element_oracle<Complex<double>>},
    {"int32", {GPUKERN_INT, 32, 1}, 4, 0, element_oracle<std::int32_t>},
    {"int64", {GPUKERN_INT, 64, 1}, 8, 0, element_oracle<std::int64_t>},
};

/// A test for each placement and dtype; the CUDA ones are skipped without a GPU.
class SaxpyTypeTest : public testing::TestWithParam<std::tuple<Placement, SaxpyType>> {
 protected:
  void SetUp() override {
    if (placement() != Placement::Cpu && cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
  [[nodiscard]] Placement placement() const { return std::get<Placement>(GetParam()); }
  [[nodiscard]] const SaxpyType& type() const { return std::get<SaxpyType>(GetParam()); }
};

inline std::string saxpy_test_name(const testing::TestParamInfo<SaxpyTypeTest::ParamType>& test) {
  return placement_name(std::get<Placement>(test.param)) + "_" +
         std::get<SaxpyType>(test.param).name;
}

#define GPUKERN_INSTANTIATE_SAXPY_TYPES(suite, types) \
  INSTANTIATE_TEST_SUITE_P(                           \
      Placements, suite,                              \
      testing::Combine(testing::ValuesIn(kPlacements), testing::ValuesIn(types)), saxpy_test_name)

/// Bit patterns at the limits of formats with this layout; for integers, ordinary ones.
inline std::vector<std::uint64_t> special_bits(const SaxpyType& type) {
  const int bits = type.component_bytes * 8;
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  std::vector<std::uint64_t> patterns{0, 1, 2, sign - 1};
  if (type.is_float()) {
    const std::uint64_t normal = std::uint64_t{1} << type.fraction_bits;
    const std::uint64_t infinity = (sign - 1) / normal * normal;
    const std::uint64_t one = (infinity / normal / 2) * normal;
    patterns = {0,
                1,
                normal - 1,
                normal,
                one - 1,
                one,
                one + 1,
                one + normal,
                infinity - 1,
                infinity,
                infinity + 1,
                infinity + normal / 2,
                one - 6 * normal};
  }
  for (std::size_t k = patterns.size(); k-- > 0;) patterns.push_back(patterns[k] | sign);
  return patterns;
}

struct Saxpy {
  const SaxpyType& type;
  std::span<const std::byte> a;
  const View& x;
  const View& y;
  const View& out;

  [[nodiscard]] gpukern_status run(Placement placement) const {
    const gpukern_exec exec = exec_at(placement);
    const gpukern_tensor x_tensor = x.tensor();
    const gpukern_tensor y_tensor = y.tensor();
    const gpukern_tensor out_tensor = out.tensor();
    return gpukern_saxpy(a.data(), &x_tensor, &y_tensor, &out_tensor, &exec);
  }
};

/// Runs a call whose memories are set on the host, and compares every byte of them afterwards, and
/// thus every bit of the result.
inline void expect_saxpy(const Saxpy& call, Placement placement) {
  const auto from_x = call.x.offsets();
  const auto from_y = call.y.offsets();
  const auto to = call.out.offsets();
  Bytes expected = call.out.memory->host;
  for (std::size_t k = 0; k < to.size(); ++k)
    call.type.oracle(call.a.data(), call.x.memory->host.data() + from_x[k],
                     call.y.memory->host.data() + from_y[k], expected.data() + to[k]);

  const Bytes x = call.x.memory->host;
  const Bytes y = call.y.memory->host;
  for (Memory* memory : {call.x.memory, call.y.memory, call.out.memory}) memory->commit();
  ASSERT_EQ(call.run(placement), GPUKERN_SUCCESS) << gpukern_last_error();
  for (Memory* memory : {call.x.memory, call.y.memory, call.out.memory}) memory->fetch();
  EXPECT_TRUE(same_bytes(expected, call.out.memory->host));
  if (call.x.memory != call.out.memory) {
    EXPECT_TRUE(same_bytes(x, call.x.memory->host)) << "x";
  }
  if (call.y.memory != call.out.memory) {
    EXPECT_TRUE(same_bytes(y, call.y.memory->host)) << "y";
  }
}

}  // namespace gpukern_test

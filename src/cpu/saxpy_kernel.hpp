// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of saxpy on contiguous memory, compiled once per instruction set: the including
// file defines GPUKERN_ISA, the namespace, and is compiled with that set's flags. Nothing here may
// be an inline function with external linkage, which the linker could take from the wrong file.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "../dtype.hpp"
#include "saxpy_kernels.hpp"

namespace gpukern::cpu::GPUKERN_ISA {
namespace {

// std::bit_cast, but local to the file, as all here.
template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// A NaN has one representation in results, so that the CPU and the GPU give the same bits.
inline float canonical(float value) { return value != value ? bits_as<float>(0x7fc00000U) : value; }
inline double canonical(double value) {
  return value != value ? bits_as<double>(0x7ff8000000000000U) : value;
}

inline float widen(BFloat16 value) {
  return bits_as<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline void narrow(float value, BFloat16& to) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t rounded =
      (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;  // to nearest, ties even
  to.bits = static_cast<std::uint16_t>(value != value ? 0x7fc0U : rounded);
}

inline float widen(Half value) {
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  // The exponent bias of float32 is 112 higher; the product is exact, for subnormals too.
  const float scaled = bits_as<float>(magnitude << 13) * 0x1p112F;
  const std::uint32_t special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;  // infinity, NaN
  return bits_as<float>(bits_as<std::uint32_t>(scaled) | special | sign);
}

inline void narrow(float value, Half& to) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Normal: rebias, then round the 13 lost bits to nearest, ties to even.
  const std::uint32_t rebased = magnitude - (112U << 23);
  const std::uint32_t normal = (rebased + 0xfffU + (rebased >> 13 & 1U)) >> 13;
  // Subnormal: next to 0.5, float32 has just the spacing of float16's subnormals.
  const std::uint32_t tiny = bits_as<std::uint32_t>(bits_as<float>(magnitude) + 0.5F) - 0x3f000000U;
  std::uint32_t result = magnitude < 0x38800000U ? tiny : normal;
  if (magnitude >= 0x477ff000U) result = 0x7c00U;  // rounds to infinity from 65520 on
  if (magnitude > 0x7f800000U)
    to.bits = 0x7e00U;
  else
    to.bits = static_cast<std::uint16_t>(result | sign);
}

inline void multiply_add(float a, float x, float y, float& out) {
  out = canonical(__builtin_fmaf(a, x, y));
}
inline void multiply_add(double a, double x, double y, double& out) {
  out = canonical(__builtin_fma(a, x, y));
}
inline void multiply_add(Half a, Half x, Half y, Half& out) {
  narrow(__builtin_fmaf(widen(a), widen(x), widen(y)), out);
}
inline void multiply_add(BFloat16 a, BFloat16 x, BFloat16 y, BFloat16& out) {
  narrow(__builtin_fmaf(widen(a), widen(x), widen(y)), out);
}
template <class Real>
inline void multiply_add(Complex<Real> a, Complex<Real> x, Complex<Real> y, Complex<Real>& out) {
  Complex<Real> sum;
  multiply_add(a.re, x.re, y.re, sum.re);
  multiply_add(a.re, x.im, y.im, sum.im);
  multiply_add(-a.im, x.im, sum.re, out.re);
  multiply_add(a.im, x.re, sum.im, out.im);
}
inline void multiply_add(std::int32_t a, std::int32_t x, std::int32_t y, std::int32_t& out) {
  out = static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(x) +
                                  static_cast<std::uint32_t>(y));
}
inline void multiply_add(std::int64_t a, std::int64_t x, std::int64_t y, std::int64_t& out) {
  out = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(x) +
                                  static_cast<std::uint64_t>(y));
}

template <class T>
void saxpy_run(const std::byte* a_bytes, const std::byte* x_bytes, const std::byte* y_bytes,
               std::byte* out_bytes, std::int64_t count) {
  T a;
  std::memcpy(&a, a_bytes, sizeof(T));
  const auto* x = reinterpret_cast<const T*>(x_bytes);
  const auto* y = reinterpret_cast<const T*>(y_bytes);
  auto* out = reinterpret_cast<T*>(out_bytes);
// out is x or y, element for element, or apart from both.
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    T result;
    multiply_add(a, x[i], y[i], result);
    out[i] = result;
  }
}

constexpr SaxpyKernels kKernels{
#define GPUKERN_KERNEL(name, type, code, bits) saxpy_run<type>,
    GPUKERN_SAXPY_DTYPES(GPUKERN_KERNEL)
#undef GPUKERN_KERNEL
};

}  // namespace
}  // namespace gpukern::cpu::GPUKERN_ISA

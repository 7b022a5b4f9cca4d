// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Conversions of the 16-bit floating-point types, and the NaN of results. In an unnamed namespace:
// some files are compiled for a wide instruction set, and the linker must not take another file's
// functions from them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/core/dtype.hpp"
#include "src/core/index.hpp"

namespace gpukern {
namespace {

// std::bit_cast with internal linkage.
template <class To, class From>
GPUKERN_HOST_DEVICE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// NaN has one representation in results, so that the CPU and the GPU return the same bits.
GPUKERN_HOST_DEVICE inline float canonical(float value) {
  return value != value ? bits_as<float>(0x7fc00000U) : value;
}
GPUKERN_HOST_DEVICE inline double canonical(double value) {
  return value != value ? bits_as<double>(0x7ff8000000000000U) : value;
}

/// The value of a 16-bit type T in `bits`, which is a std::uint32_t, or a vector of such.
template <class T, class Float, class Bits>
GPUKERN_HOST_DEVICE inline Float widened_bits(Bits bits) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return bits_as<Float>(bits << 16);
  } else {
    const Bits magnitude = bits & 0x7fffU;
    const Bits sign = (bits & 0x8000U) << 16;
    // The exponent bias of float32 is 112 higher; the product is exact, for subnormals too.
    const Float scaled = bits_as<Float>(magnitude << 13) * 0x1p112F;
    const Bits special = magnitude >= 0x7c00U ? Bits{} + 0x7f800000U : Bits{};  // infinity, NaN
    return bits_as<Float>(bits_as<Bits>(scaled) | special | sign);
  }
}
GPUKERN_HOST_DEVICE inline float widen(BFloat16 value) {
  return widened_bits<BFloat16, float>(std::uint32_t{value.bits});
}
GPUKERN_HOST_DEVICE inline float widen(Half value) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
#else
  return widened_bits<Half, float>(std::uint32_t{value.bits});
#endif
}

GPUKERN_HOST_DEVICE inline float widen(float value) { return value; }
GPUKERN_HOST_DEVICE inline double widen(double value) { return value; }

GPUKERN_HOST_DEVICE inline void narrow(float value, BFloat16& to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint16_t nearest;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
  to.bits = value != value ? std::uint16_t{0x7fc0} : nearest;
#else
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t rounded =
      (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;  // to nearest, ties even
  to.bits = static_cast<std::uint16_t>(value != value ? 0x7fc0U : rounded);
#endif
}

GPUKERN_HOST_DEVICE inline void narrow(float value, Half& to) {
#ifdef __CUDA_ARCH__
  std::uint16_t nearest;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
  to.bits = value != value ? std::uint16_t{0x7e00} : nearest;
#else
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Normal: rebias, then round the 13 lost bits to nearest, ties to even.
  const std::uint32_t rebased = magnitude - (112U << 23);
  const std::uint32_t normal = (rebased + 0xfffU + (rebased >> 13 & 1U)) >> 13;
  // Subnormal: near 0.5 the spacing of float32 is that of float16's subnormals.
  const std::uint32_t tiny = bits_as<std::uint32_t>(bits_as<float>(magnitude) + 0.5F) - 0x3f000000U;
  std::uint32_t result = magnitude < 0x38800000U ? tiny : normal;
  if (magnitude >= 0x477ff000U) result = 0x7c00U;  // rounds to infinity from 65520 on
  if (magnitude > 0x7f800000U)
    to.bits = 0x7e00U;
  else
    to.bits = static_cast<std::uint16_t>(result | sign);
#endif
}

/// float32 to bfloat16, away from zero with the probability `random / 2**16` of the discarded bits:
/// `random` has 16 bits.
GPUKERN_HOST_DEVICE inline void narrow_stochastic(float value, std::uint32_t random, BFloat16& to) {
  const auto bits = bits_as<std::uint32_t>(value);
  const bool finite = (bits & 0x7f800000U) != 0x7f800000U;
  const std::uint32_t rounded = (bits + (finite ? random : 0U)) >> 16;
  to.bits = static_cast<std::uint16_t>(value != value ? 0x7fc0U : rounded);
}

/// float64 to float32, to odd where it is inexact: rounded to nearest thereafter, the result is
/// that of one rounding to a type of at most 22 bits of precision.
GPUKERN_HOST_DEVICE inline float to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  auto bits = bits_as<std::uint32_t>(nearest);
  const bool away = (back < 0 ? -back : back) > (value < 0 ? -value : value);
  bits -= away ? 1U : 0U;  // towards zero
  return bits_as<float>(bits | 1U);
}

GPUKERN_HOST_DEVICE inline void narrow(float value, float& to) { to = canonical(value); }
GPUKERN_HOST_DEVICE inline void narrow(double value, double& to) { to = canonical(value); }
GPUKERN_HOST_DEVICE inline void narrow(double value, float& to) {
  to = canonical(static_cast<float>(value));
}
template <class T>
GPUKERN_HOST_DEVICE inline void narrow(double value, T& to) {
  narrow(to_odd(value), to);
}

}  // namespace
}  // namespace gpukern

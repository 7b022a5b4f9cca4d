// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How scatter and gather_reduce combine values: one definition for the CPU and the GPU.
//
// In scatter, the sequence of a target element is its own value followed by its updates in order;
// in gather_reduce, that of a bag is its items in order. A sequence is divided
// into blocks of kBlockValues, each combined from left to right, and the blocks are joined by a
// binary tree whose nodes cover aligned powers of two of blocks: the result is a function of the
// arguments alone, on every device.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "src/core/dtype.hpp"
#include "src/core/float16.hpp"
#include "src/core/index.hpp"

namespace gpukern {

inline constexpr std::int64_t kBlockValues = 256;

/// The type in which elements of type T are combined.
template <class T>
struct AccumulatorOf {
  using Type = T;
};
template <>
struct AccumulatorOf<Half> {
  using Type = float;
};
template <>
struct AccumulatorOf<BFloat16> {
  using Type = float;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::Type;

template <class T>
inline constexpr bool kIsComplex = false;
template <class Real>
inline constexpr bool kIsComplex<Complex<Real>> = true;

/// The type that stands for T in a reduction: sums and products of signed integers have the bits of
/// those of unsigned ones.
template <class T, gpukern_reduce reduce>
struct ReducedAs {
  using Type = T;
};
template <class T, gpukern_reduce reduce>
  requires std::is_signed_v<T> && std::is_integral_v<T> &&
           (reduce == GPUKERN_REDUCE_ADD || reduce == GPUKERN_REDUCE_MULTIPLY)
struct ReducedAs<T, reduce> {
  using Type = std::make_unsigned_t<T>;
};

/// Calls visit(TypeTag<T>{}) with the type of a dtype that scatter combines; returns false for any
/// other dtype.
template <class Visit>
bool visit_reduced_dtype(gpukern_dtype dtype, const Visit& visit) {
  const auto match = [&]<class T>(TypeTag<T> tag, int code, int bits) {
    if (!is_dtype(dtype, code, bits)) return false;
    visit(tag);
    return true;
  };
#ifdef __clang_analyzer__  // one type of each kind, for its time grows with their number
  return match(TypeTag<Half>{}, GPUKERN_FLOAT, 16) ||
         match(TypeTag<std::int32_t>{}, GPUKERN_INT, 32) ||
         match(TypeTag<Complex<float>>{}, GPUKERN_COMPLEX, 64);
#else
  return match(TypeTag<float>{}, GPUKERN_FLOAT, 32) ||
         match(TypeTag<double>{}, GPUKERN_FLOAT, 64) || match(TypeTag<Half>{}, GPUKERN_FLOAT, 16) ||
         match(TypeTag<BFloat16>{}, GPUKERN_BFLOAT, 16) ||
         match(TypeTag<std::int64_t>{}, GPUKERN_INT, 64) ||
         match(TypeTag<std::int32_t>{}, GPUKERN_INT, 32) ||
         match(TypeTag<std::int16_t>{}, GPUKERN_INT, 16) ||
         match(TypeTag<std::int8_t>{}, GPUKERN_INT, 8) ||
         match(TypeTag<std::uint64_t>{}, GPUKERN_UINT, 64) ||
         match(TypeTag<std::uint32_t>{}, GPUKERN_UINT, 32) ||
         match(TypeTag<std::uint16_t>{}, GPUKERN_UINT, 16) ||
         match(TypeTag<std::uint8_t>{}, GPUKERN_UINT, 8) ||
         match(TypeTag<Complex<float>>{}, GPUKERN_COMPLEX, 64) ||
         match(TypeTag<Complex<double>>{}, GPUKERN_COMPLEX, 128);
#endif
}

/// The ends of a type's range, infinities for floating-point types. GPU code has them as constants:
/// it does not call numeric_limits.
template <class A>
inline constexpr A kLargest =
    std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity()
                                         : std::numeric_limits<A>::max();
template <class A>
inline constexpr A kSmallest =
    std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity()
                                         : std::numeric_limits<A>::lowest();

/// The size of the accumulators of a dtype, 0 of one that cannot be combined.
inline std::int64_t accumulator_bytes(gpukern_dtype dtype) {
  std::int64_t bytes = 0;
  visit_reduced_dtype(dtype, [&]<class T>(TypeTag<T> /*tag*/) { bytes = sizeof(Accumulator<T>); });
  return bytes;
}

/// Whether scatter has the reduction for elements of type T.
template <class T>
constexpr bool has_reduction(gpukern_reduce reduce) {
  if (reduce == GPUKERN_REDUCE_ADD) return true;
  if (reduce == GPUKERN_REDUCE_MEAN) return !std::is_integral_v<T>;
  return !kIsComplex<T>;
}

/// Whether the order of the values changes the result.
template <class T>
constexpr bool depends_on_order(gpukern_reduce reduce) {
  const bool rounds = reduce != GPUKERN_REDUCE_MIN && reduce != GPUKERN_REDUCE_MAX;
  return rounds && !std::is_integral_v<T>;
}

/// The reduction that combines two values: GPUKERN_REDUCE_MEAN adds, and divides at the end.
constexpr gpukern_reduce step_of(gpukern_reduce reduce) {
  return reduce == GPUKERN_REDUCE_MEAN ? GPUKERN_REDUCE_ADD : reduce;
}

namespace {

template <class T>
GPUKERN_HOST_DEVICE inline Accumulator<T> widened(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return widen(value);
  else
    return value;
}

/// The smaller or larger of two numbers, or of each pair in two vectors; NaN wins, and -0 is less
/// than +0. Bits is void for integers, else the type of the bits of a Value. Without branches, so
/// that compilers vectorize it.
template <class Bits, class Value>
GPUKERN_HOST_DEVICE inline Value extreme(bool largest, Value a, Value b) {
  Value chosen = (largest ? a < b : b < a) ? b : a;
  if constexpr (!std::is_void_v<Bits>) {
    // Equal numbers differ in the sign of zero only.
    const auto x = bits_as<Bits>(a);
    const auto y = bits_as<Bits>(b);
    chosen = a == b ? bits_as<Value>(largest ? x & y : x | y) : chosen;
    chosen = b != b ? b : chosen;
  }
  return chosen;
}

/// The extreme of two accumulators.
template <class A>
GPUKERN_HOST_DEVICE inline A combine_extremes(bool largest, A a, A b) {
  if constexpr (!std::is_floating_point_v<A>) {
    return extreme<void>(largest, a, b);
  } else {
#ifdef __CUDA_ARCH__
    // By PTX's max and min, of which +0 is more than -0; they return the other of a NaN.
    const A number = largest ? fmax(a, b) : fmin(a, b);
    return b != b ? b : a != a ? a : number;
#else
    using Bits = std::conditional_t<sizeof(A) == 4, std::uint32_t, std::uint64_t>;
    return extreme<Bits>(largest, a, b);
#endif
  }
}

/// Combines two values, the earlier one first. GPUKERN_REDUCE_MEAN adds, see step_of().
template <class A>
GPUKERN_HOST_DEVICE inline A combine(gpukern_reduce reduce, A a, A b) {
  if constexpr (kIsComplex<A>) {
    return {a.re + b.re, a.im + b.im};
  } else {
    if (reduce == GPUKERN_REDUCE_MIN || reduce == GPUKERN_REDUCE_MAX)
      return combine_extremes(reduce == GPUKERN_REDUCE_MAX, a, b);
    if constexpr (std::is_integral_v<A>) {
      using Unsigned = std::make_unsigned_t<A>;
      const auto x = static_cast<std::uint64_t>(static_cast<Unsigned>(a));
      const auto y = static_cast<std::uint64_t>(static_cast<Unsigned>(b));
      return static_cast<A>(reduce == GPUKERN_REDUCE_MULTIPLY ? x * y : x + y);
    } else {
      return reduce == GPUKERN_REDUCE_MULTIPLY ? a * b : a + b;
    }
  }
}

/// The value that changes no x, before or after it; not for GPUKERN_REDUCE_MULTIPLY.
template <class A>
GPUKERN_HOST_DEVICE inline A identity(gpukern_reduce reduce) {
  if constexpr (kIsComplex<A>) {
    return {decltype(A::re)(-0.0), decltype(A::im)(-0.0)};
  } else {
    if (reduce == GPUKERN_REDUCE_MIN) return kLargest<A>;
    if (reduce == GPUKERN_REDUCE_MAX) return kSmallest<A>;
    return static_cast<A>(-0.0);  // +0 + -0 is +0
  }
}

/// A product with one rounding, which no compiler joins with an addition.
template <class A>
GPUKERN_HOST_DEVICE inline A multiplied(A a, A b) {
  if constexpr (kIsComplex<A>) {
    return {multiplied(a.re, b.re) - multiplied(a.im, b.im),
            multiplied(a.re, b.im) + multiplied(a.im, b.re)};
  } else if constexpr (std::is_integral_v<A>) {
    return combine(GPUKERN_REDUCE_MULTIPLY, a, b);
  } else {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(A) == 4)
      return __fmul_rn(a, b);
    else
      return __dmul_rn(a, b);
#else
    return a * b;
#endif
  }
}

/// The element for the combination of `count` values.
template <class T>
GPUKERN_HOST_DEVICE inline T finished(gpukern_reduce reduce, Accumulator<T> value,
                                      std::int64_t count) {
  if constexpr (kIsComplex<T>) {
    using Real = decltype(value.re);
    if (reduce == GPUKERN_REDUCE_MEAN) {
      value.re /= static_cast<Real>(count);
      value.im /= static_cast<Real>(count);
    }
    return {canonical(value.re), canonical(value.im)};
  } else if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    if (reduce == GPUKERN_REDUCE_MEAN) value /= static_cast<Accumulator<T>>(count);
    if constexpr (std::is_same_v<T, Accumulator<T>>) {
      return canonical(value);
    } else {
      T to;
      narrow(value, to);
      return to;
    }
  }
}

}  // namespace
}  // namespace gpukern

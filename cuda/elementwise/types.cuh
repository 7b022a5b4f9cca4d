// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The types of element-wise functions, and their conversions. What kernels are made of is here and
// in the other headers, cuda_codegen.py writes the rest. Compiled by NVRTC, which has no
// standard headers: nothing is included.
#pragma once

namespace gpukern {

using int8 = signed char;
using uint8 = unsigned char;
using int16 = short;
using uint16 = unsigned short;
using int32 = int;
using uint32 = unsigned int;
using int64 = long long;
using uint64 = unsigned long long;

/// Stored as it is, computed with as float; cuda_fp16.h is not needed for that.
struct float16 {
  uint16 bits;
  float16() = default;
  __device__ explicit float16(float value) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  __device__ explicit float16(double value) {
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
  }
  __device__ explicit operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
#ifdef __CUDA_FP16_TYPES_EXIST__
  __device__ explicit float16(__half value) { memcpy(&bits, &value, 2); }
  __device__ operator __half() const {
    __half value;
    memcpy(&value, &bits, 2);
    return value;
  }
#endif
};

struct bfloat16 {
  uint16 bits;
  bfloat16() = default;
  /// Rounds to nearest, ties to even; a NaN stays one.
  __device__ explicit bfloat16(float value) {
    const uint32 word = __float_as_uint(value);
    bits = value != value ? static_cast<uint16>((word >> 16) | 0x40U)
                          : static_cast<uint16>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
  }
  __device__ explicit operator float() const { return __uint_as_float(uint32{bits} << 16); }
#ifdef __CUDA_BF16_TYPES_EXIST__
  __device__ explicit bfloat16(__nv_bfloat16 value) { memcpy(&bits, &value, 2); }
  __device__ operator __nv_bfloat16() const {
    __nv_bfloat16 value;
    memcpy(&value, &bits, 2);
    return value;
  }
#endif
};

template <class Part>
struct complex {
  Part re, im;
};
using complex64 = complex<float>;
using complex128 = complex<double>;

template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;
template <class T>
constexpr bool is_complex = is_same<T, complex64> || is_same<T, complex128>;
template <class T>
constexpr bool is_narrow = is_same<T, float16> || is_same<T, bfloat16>;
template <class T>
constexpr bool is_float = is_same<T, float> || is_same<T, double>;
template <class T>
constexpr bool is_integer = !is_float<T> && !is_complex<T> && !is_narrow<T> && !is_same<T, bool>;
template <class T>
constexpr bool is_signed = is_integer<T> && T(-1) < T(0);

/// The unsigned integers in which an integer type is computed, so that it wraps around.
template <int Bytes>
struct Wrapping {
  using type = uint32;
};
template <>
struct Wrapping<8> {
  using type = uint64;
};
template <class T>
using wrapping = typename Wrapping<sizeof(T)>::type;

template <class To, class From>
__device__ To cast(From value) {
  if constexpr (is_same<To, From>) {
    return value;
  } else if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>)
      return {cast<decltype(To::re)>(value.re), cast<decltype(To::re)>(value.im)};
    else if constexpr (is_same<To, bool>)
      return value.re != 0 || value.im != 0;
    else
      return cast<To>(value.re);
  } else if constexpr (is_complex<To>) {
    return {cast<decltype(To::re)>(value), 0};
  } else if constexpr (is_narrow<From>) {
    return cast<To>(static_cast<float>(value));
  } else if constexpr (is_same<To, float16> && is_same<From, double>) {
    return To(value);
  } else if constexpr (is_narrow<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (is_same<To, bool>) {
    return value != 0;
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The functions of element-wise functions, under NumPy's names and with NumPy's results. A name
// with an underscore at its end is one that CUDA has for something else.
#pragma once

namespace gpukern {

// ---- arithmetic, as NumPy does it ----

template <class T>
__device__ T add(T a, T b) {
  if constexpr (is_complex<T>)
    return {a.re + b.re, a.im + b.im};
  else if constexpr (is_integer<T>)
    return static_cast<T>(static_cast<wrapping<T>>(a) + static_cast<wrapping<T>>(b));
  else if constexpr (is_same<T, bool>)
    return a || b;
  else
    return a + b;
}

template <class T>
__device__ T subtract(T a, T b) {
  if constexpr (is_complex<T>)
    return {a.re - b.re, a.im - b.im};
  else if constexpr (is_integer<T>)
    return static_cast<T>(static_cast<wrapping<T>>(a) - static_cast<wrapping<T>>(b));
  else
    return a - b;
}

template <class T>
__device__ T multiply(T a, T b) {
  if constexpr (is_complex<T>)
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  else if constexpr (is_integer<T>)
    return static_cast<T>(static_cast<wrapping<T>>(a) * static_cast<wrapping<T>>(b));
  else if constexpr (is_same<T, bool>)
    return a && b;
  else
    return a * b;
}

/// Complex numbers by Smith's method (Algorithm 116, CACM 5, 1962).
template <class T>
__device__ T divide(T a, T b) {
  if constexpr (!is_complex<T>) {
    return a / b;
  } else if (fabs(b.re) >= fabs(b.im)) {
    if (b.re == 0 && b.im == 0) return {a.re / fabs(b.re), a.im / fabs(b.re)};
    const auto ratio = b.im / b.re;
    const auto scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  } else {
    const auto ratio = b.re / b.im;
    const auto scale = 1 / (b.im + b.re * ratio);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
  }
}

template <class T>
__device__ T negative(T a) {
  if constexpr (is_complex<T>)
    return {-a.re, -a.im};
  else if constexpr (is_integer<T>)
    return static_cast<T>(-static_cast<wrapping<T>>(a));
  else
    return -a;
}
template <class T>
__device__ T positive(T a) {
  return a;
}
template <class T>
__device__ T conjugate(T a) {
  if constexpr (is_complex<T>)
    return {a.re, -a.im};
  else
    return a;
}
template <class T>
__device__ auto real(T a) {
  if constexpr (is_complex<T>)
    return a.re;
  else
    return a;
}
template <class T>
__device__ auto imag(T a) {
  if constexpr (is_complex<T>)
    return a.im;
  else
    return T(0);
}
template <class T>
__device__ auto absolute(T a) {
  if constexpr (is_complex<T>)
    return hypot(a.re, a.im);
  else if constexpr (is_float<T>)
    return T(fabs(a));
  else if constexpr (is_signed<T>)
    return a < 0 ? negative(a) : a;
  else
    return a;
}
template <class T>
__device__ T square(T a) {
  return multiply(a, a);
}
template <class T>
__device__ T reciprocal(T a) {
  if constexpr (is_complex<T>)
    return divide(T{1, 0}, a);
  else if constexpr (is_float<T>)
    return T(1) / a;
  else
    return a == 0 ? T(0) : T(T(1) / a);
}
template <class T>
__device__ T sign(T a) {
  if constexpr (is_float<T>)
    return a > 0 ? T(1) : a < 0 ? T(-1) : a == 0 ? T(0) : a;
  else if constexpr (is_signed<T>)
    return static_cast<T>((a > 0) - (a < 0));
  else
    return a != 0;
}

/// Division by zero of integers gives 0, as in NumPy.
template <class T>
__device__ T fmod_(T a, T b) {
  if constexpr (is_float<T>)
    return fmod(a, b);
  else if constexpr (is_signed<T>)
    return b == 0 || b == -1 ? T(0) : T(a % b);
  else
    return b == 0 ? T(0) : T(a % b);
}

/// Python's: the sign of the divisor.
template <class T>
__device__ T remainder_(T a, T b) {
  T rest = fmod_(a, b);
  if constexpr (is_float<T>) {
    if (b == 0) return rest;
    if (rest == 0) return copysign(T(0), b);
  }
  if constexpr (is_float<T> || is_signed<T>)
    if (rest != 0 && (rest < 0) != (b < 0)) rest = add(rest, b);
  return rest;
}

template <class T>
__device__ T floor_divide(T a, T b) {
  if constexpr (is_float<T>) {
    if (b == 0) return a / b;
    const T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return copysign(T(0), a / b);
    const T whole = floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
  } else if constexpr (is_signed<T>) {
    if (b == 0) return 0;
    if (b == -1) return negative(a);
    const T quotient = static_cast<T>(a / b);
    return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
  } else {
    return b == 0 ? T(0) : T(a / b);
  }
}

// ---- choice and comparison ----

template <class T>
__device__ T where(bool condition, T a, T b) {
  return condition ? a : b;
}
/// A NaN wins.
template <class T>
__device__ T maximum(T a, T b) {
  return a >= b || a != a ? a : b;
}
template <class T>
__device__ T minimum(T a, T b) {
  return a <= b || a != a ? a : b;
}
/// A NaN loses.
template <class T>
__device__ T fmax_(T a, T b) {
  return a >= b || b != b ? a : b;
}
template <class T>
__device__ T fmin_(T a, T b) {
  return a <= b || b != b ? a : b;
}

/// Integers of any two types compare as numbers.
template <class A, class B>
__device__ bool less(A a, B b) {
  if constexpr (is_signed<A> && is_integer<B> && !is_signed<B>)
    return a < 0 || static_cast<uint64>(a) < b;
  else if constexpr (is_integer<A> && !is_signed<A> && is_signed<B>)
    return b >= 0 && a < static_cast<uint64>(b);
  else
    return a < b;
}
template <class A, class B>
__device__ bool equal(A a, B b) {
  if constexpr (is_complex<A>)
    return a.re == b.re && a.im == b.im;
  else if constexpr (is_integer<A> && is_integer<B> && is_signed<A> != is_signed<B>)
    return !less(a, b) && !less(b, a);
  else
    return a == b;
}
template <class A, class B>
__device__ bool not_equal(A a, B b) {
  return !equal(a, b);
}
template <class A, class B>
__device__ bool greater(A a, B b) {
  return less(b, a);
}
template <class A, class B>
__device__ bool less_equal(A a, B b) {
  if constexpr (is_float<A>)
    return a <= b;
  else
    return !less(b, a);
}
template <class A, class B>
__device__ bool greater_equal(A a, B b) {
  return less_equal(b, a);
}

__device__ inline bool logical_and(bool a, bool b) { return a && b; }
__device__ inline bool logical_or(bool a, bool b) { return a || b; }
__device__ inline bool logical_xor(bool a, bool b) { return a != b; }
__device__ inline bool logical_not(bool a) { return !a; }

template <class T>
__device__ bool isnan_(T a) {
  if constexpr (is_complex<T>)
    return isnan_(a.re) || isnan_(a.im);
  else
    return a != a;
}
template <class T>
__device__ bool isinf_(T a) {
  if constexpr (is_complex<T>)
    return isinf_(a.re) || isinf_(a.im);
  else if constexpr (is_float<T>)
    return fabs(a) > (sizeof(T) == 4 ? T(3.402823466e38F) : T(1.7976931348623157e308));
  else
    return false;
}
template <class T>
__device__ bool isfinite_(T a) {
  return !isnan_(a) && !isinf_(a);
}
template <class T>
__device__ bool signbit_(T a) {
  return copysign(T(1), a) < 0;
}

// ---- bits ----

template <class T>
__device__ T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
__device__ T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
__device__ T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
__device__ T invert(T a) {
  if constexpr (is_same<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
/// Shifts by the width and more, and by less than nothing, push all bits out.
template <class T>
__device__ T left_shift(T a, T b) {
  const bool inside = static_cast<uint64>(b) < 8 * sizeof(T);
  return inside ? static_cast<T>(static_cast<wrapping<T>>(a) << b) : T(0);
}
template <class T>
__device__ T right_shift(T a, T b) {
  const bool inside = static_cast<uint64>(b) < 8 * sizeof(T);
  if constexpr (is_signed<T>)
    return static_cast<T>(inside ? a >> b : a < 0 ? -1 : 0);
  else
    return inside ? static_cast<T>(a >> b) : T(0);
}

// ---- powers ----

/// Integers by squaring; a negative exponent, which NumPy refuses, gives the power's whole part.
template <class T>
__device__ T power(T a, T b) {
  if constexpr (is_float<T>) {
    return pow(a, b);
  } else {
    if constexpr (is_signed<T>)
      if (b < 0) return a == 1 ? T(1) : a == -1 ? T(b % 2 == 0 ? 1 : -1) : T(0);
    T result = 1;
    for (; b != 0; b >>= 1) {
      if (b & 1) result = multiply(result, a);
      a = multiply(a, a);
    }
    return result;
  }
}
template <class T>
__device__ T degrees(T a) {
  return a * T(57.295779513082320876798);
}
template <class T>
__device__ T radians(T a) {
  return a * T(0.017453292519943295769237);
}

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of saxpy and axpby on the GPU: the steps of a * x + b * y, and a * x + y of
// complex numbers and of integers.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/core/dtype.hpp"
#include "src/core/float16.hpp"

namespace gpukern::gpu {

inline __device__ float fused(float a, float x, float y) { return __fmaf_rn(a, x, y); }
inline __device__ double fused(double a, double x, double y) { return __fma_rn(a, x, y); }
inline __device__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }
inline __device__ double rounded_product(double a, double b) { return __dmul_rn(a, b); }

inline __device__ void multiply_add(float a, float x, float y, float& out) {
  out = canonical(__fmaf_rn(a, x, y));
}
inline __device__ void multiply_add(double a, double x, double y, double& out) {
  out = canonical(__fma_rn(a, x, y));
}
template <class Real>
inline __device__ void multiply_add(Complex<Real> a, Complex<Real> x, Complex<Real> y,
                                    Complex<Real>& out) {
  Complex<Real> sum;
  multiply_add(a.re, x.re, y.re, sum.re);
  multiply_add(a.re, x.im, y.im, sum.im);
  multiply_add(-a.im, x.im, sum.re, out.re);
  multiply_add(a.im, x.re, sum.im, out.im);
}
inline __device__ void multiply_add(std::int32_t a, std::int32_t x, std::int32_t y,
                                    std::int32_t& out) {
  out = static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(x) +
                                  static_cast<std::uint32_t>(y));
}
inline __device__ void multiply_add(std::int64_t a, std::int64_t x, std::int64_t y,
                                    std::int64_t& out) {
  out = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(x) +
                                  static_cast<std::uint64_t>(y));
}

/// Types of which saxpy also computes axpby.
template <class T>
inline constexpr bool kIsReal =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The factors of axpby, in place of that of saxpy and one.
struct Factors {
  double a;
  double b;
};

/// a * x + y, of real numbers a * x + b * y.
template <class T, bool = kIsReal<T>>
struct Scale {
  T a;

  static Scale of(const std::byte* saxpy_a, const Factors* /*factors*/) {
    Scale scale;
    std::memcpy(&scale.a, saxpy_a, sizeof(T));
    return scale;
  }
  __device__ void apply(T x, T y, T& out) const { multiply_add(a, x, y, out); }
};
template <class T>
struct Scale<T, true> {
  using Compute = decltype(widen(T{}));
  Compute a;
  Compute b;

  static Scale of(const std::byte* saxpy_a, const Factors* factors) {
    if (factors != nullptr)
      return {static_cast<Compute>(factors->a), static_cast<Compute>(factors->b)};
    T a;
    std::memcpy(&a, saxpy_a, sizeof(T));
    return {widen(a), 1};
  }
  __device__ void apply(T x, T y, T& out) const {
    narrow(fused(a, widen(x), rounded_product(b, widen(y))), out);
  }
};

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of saxpy and axpby on the GPU: an overload of multiply_add for each type of the
// dtype table, and the steps of a * x + b * y.
#pragma once

#include <cstdint>

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
inline __device__ void multiply_add(Half a, Half x, Half y, Half& out) {
  narrow(__fmaf_rn(widen(a), widen(x), widen(y)), out);
}
inline __device__ void multiply_add(BFloat16 a, BFloat16 x, BFloat16 y, BFloat16& out) {
  narrow(__fmaf_rn(widen(a), widen(x), widen(y)), out);
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

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// The dtypes of saxpy; numbered as in benchmarks/native.py.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <stdexcept>

namespace bench {

template <class Real>
struct alignas(2 * sizeof(Real)) Complex {
  Real re;
  Real im;
};

// With the benchmark's a = 2 (and no imaginary part) the product is exact for every type, so that
// rounding once or twice gives the same bits and every peer can be checked.
template <class T>
__host__ __device__ T multiply_add(T a, T x, T y) {
  return a * x + y;
}
template <>
__host__ __device__ inline __half multiply_add(__half a, __half x, __half y) {
  return __float2half_rn(__half2float(a) * __half2float(x) + __half2float(y));
}
template <>
__host__ __device__ inline __nv_bfloat16 multiply_add(__nv_bfloat16 a, __nv_bfloat16 x,
                                                      __nv_bfloat16 y) {
  return __float2bfloat16_rn(__bfloat162float(a) * __bfloat162float(x) + __bfloat162float(y));
}
template <class Real>
__host__ __device__ Complex<Real> multiply_add(Complex<Real> a, Complex<Real> x, Complex<Real> y) {
  return {a.re * x.re + (y.re - a.im * x.im), a.im * x.re + (a.re * x.im + y.im)};
}

/// Calls body(T{}) for the type of a number.
template <class Body>
void with_dtype(int dtype, Body&& body) {
  switch (dtype) {
    case 0:
      return body(__half{});
    case 1:
      return body(__nv_bfloat16{});
    case 2:
      return body(float{});
    case 3:
      return body(double{});
    case 4:
      return body(Complex<float>{});
    case 5:
      return body(Complex<double>{});
    case 6:
      return body(std::int32_t{});
    case 7:
      return body(std::int64_t{});
    default:
      throw std::invalid_argument("no such dtype");
  }
}

}  // namespace bench

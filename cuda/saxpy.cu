// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>

#include "../src/dtype.hpp"
#include "kernels.hpp"
#include "launch.cuh"

namespace gpukern::gpu {
namespace {

// A NaN has one representation in results, so that the CPU and the GPU give the same bits.
__device__ float canonical(float value) {
  return value != value ? __uint_as_float(0x7fc00000U) : value;
}
__device__ double canonical(double value) {
  return value != value ? __longlong_as_double(0x7ff8000000000000LL) : value;
}

__device__ float widen(Half value) { return __half2float(__ushort_as_half(value.bits)); }
__device__ float widen(BFloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}
__device__ void narrow(float value, Half& to) {
  to.bits = value != value ? 0x7e00 : __half_as_ushort(__float2half_rn(value));
}
__device__ void narrow(float value, BFloat16& to) {
  to.bits = value != value ? 0x7fc0 : __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

__device__ void multiply_add(float a, float x, float y, float& out) {
  out = canonical(__fmaf_rn(a, x, y));
}
__device__ void multiply_add(double a, double x, double y, double& out) {
  out = canonical(__fma_rn(a, x, y));
}
__device__ void multiply_add(Half a, Half x, Half y, Half& out) {
  narrow(__fmaf_rn(widen(a), widen(x), widen(y)), out);
}
__device__ void multiply_add(BFloat16 a, BFloat16 x, BFloat16 y, BFloat16& out) {
  narrow(__fmaf_rn(widen(a), widen(x), widen(y)), out);
}
template <class Real>
__device__ void multiply_add(Complex<Real> a, Complex<Real> x, Complex<Real> y,
                             Complex<Real>& out) {
  Complex<Real> sum;
  multiply_add(a.re, x.re, y.re, sum.re);
  multiply_add(a.re, x.im, y.im, sum.im);
  multiply_add(-a.im, x.im, sum.re, out.re);
  multiply_add(a.im, x.re, sum.im, out.im);
}
__device__ void multiply_add(std::int32_t a, std::int32_t x, std::int32_t y, std::int32_t& out) {
  out = static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(x) +
                                  static_cast<std::uint32_t>(y));
}
__device__ void multiply_add(std::int64_t a, std::int64_t x, std::int64_t y, std::int64_t& out) {
  out = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(x) +
                                  static_cast<std::uint64_t>(y));
}

/// What a thread loads at once. Its alignment is what the operands have, not what T's size
/// suggests: a complex number may lie at any multiple of its parts' size.
template <class T, int Items, int Alignment>
struct alignas(Alignment) Pack {
  T item[Items];
};

// Packs of x and of y that a thread keeps in flight, to hide the latency of DRAM.
constexpr int kPacksPerThread = 4;

/// Contiguous operands, aligned to a pack; out may be x or y, so nothing is read through the
/// read-only cache. The items behind the last whole pack are left to the threads of block 0.
template <class T, int Items, int Alignment>
__global__ void __launch_bounds__(kThreads)
    saxpy_kernel(T a, const T* x, const T* y, T* out, std::int64_t count) {
  using P = Pack<T, Items, Alignment>;
  const std::int64_t packs = count / Items;
  const std::int64_t first = std::int64_t{blockIdx.x} * (kThreads * kPacksPerThread) + threadIdx.x;
  P left[kPacksPerThread];
  P right[kPacksPerThread];
#pragma unroll
  for (int k = 0; k < kPacksPerThread; ++k) {
    const std::int64_t p = first + k * kThreads;
    if (p >= packs) continue;
    left[k] = reinterpret_cast<const P*>(x)[p];
    right[k] = reinterpret_cast<const P*>(y)[p];
  }
#pragma unroll
  for (int k = 0; k < kPacksPerThread; ++k) {
    const std::int64_t p = first + k * kThreads;
    if (p >= packs) continue;
    P result;
#pragma unroll
    for (int i = 0; i < Items; ++i)
      multiply_add(a, left[k].item[i], right[k].item[i], result.item[i]);
    reinterpret_cast<P*>(out)[p] = result;
  }
  const std::int64_t rest = packs * Items + threadIdx.x;
  if (blockIdx.x == 0 && rest < count) multiply_add(a, x[rest], y[rest], out[rest]);
}

/// Operands of any strides and any alignment: an item per thread, byte by byte where it must.
template <class T, class Offset>
__global__ void __launch_bounds__(kThreads)
    saxpy_strided_kernel(const SaxpyArgs args, T a, bool aligned, Offset count) {
  const Offset position = Offset{blockIdx.x} * kThreads + threadIdx.x;
  if (position >= count) return;
  std::int64_t offset[3];
  unravel(args.loop, position, offset);
  const std::byte* x = args.x + offset[0];
  const std::byte* y = args.y + offset[1];
  std::byte* out = args.out + offset[2];
  T result;
  if (aligned) {
    multiply_add(a, *reinterpret_cast<const T*>(x), *reinterpret_cast<const T*>(y), result);
    *reinterpret_cast<T*>(out) = result;
  } else {
    multiply_add(a, load_bytes<T>(x), load_bytes<T>(y), result);
    store_bytes(out, result);
  }
}

bool aligned_to(const SaxpyArgs& args, std::int64_t bytes) {
  bool aligned = true;
  for (const void* address : {static_cast<const void*>(args.x), static_cast<const void*>(args.y),
                              static_cast<const void*>(args.out)})
    aligned = aligned && alignment_of(address) >= bytes;
  for (int d = 0; d < args.loop.ndim; ++d)
    for (int k = 0; k < 3; ++k)
      aligned = aligned &&
                alignment_of(args.loop.stride[k][d]) >= std::min<std::int64_t>(bytes, args.item);
  return aligned;
}

template <class T, int Items, int Alignment>
void launch_contiguous(const SaxpyArgs& args, T a, std::int64_t count, cudaStream_t stream) {
  const std::int64_t blocks =
      ceil_divide(ceil_divide(count, Items), std::int64_t{kThreads} * kPacksPerThread);
  launch(saxpy_kernel<T, Items, Alignment>, blocks, stream, a, reinterpret_cast<const T*>(args.x),
         reinterpret_cast<const T*>(args.y), reinterpret_cast<T*>(args.out), count);
}

template <class T>
void saxpy_typed(const SaxpyArgs& args, cudaStream_t stream) {
  T a;
  std::memcpy(&a, args.a, sizeof(T));
  const std::int64_t count = args.loop.count();
  bool contiguous = true;
  for (int k = 0; k < 3; ++k) contiguous = contiguous && args.loop.contiguous(k, args.item);
  if (contiguous && aligned_to(args, 16)) {
    launch_contiguous<T, 16 / sizeof(T), 16>(args, a, count, stream);
  } else if (contiguous && aligned_to(args, alignof(T))) {
    launch_contiguous<T, 1, alignof(T)>(args, a, count, stream);
  } else {
    const bool aligned = aligned_to(args, alignof(T));
    visit_offset(count, [&](auto offset) {
      using Offset = decltype(offset);
      launch(saxpy_strided_kernel<T, Offset>, ceil_divide(count, kThreads), stream, args, a,
             aligned, static_cast<Offset>(count));
    });
  }
}

}  // namespace

void saxpy(const SaxpyArgs& args, cudaStream_t stream) {
  visit_saxpy_dtype(args.dtype,
                    [&](auto tag) { saxpy_typed<typename decltype(tag)::type>(args, stream); });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy by a plain kernel, which is the reference result, and by cub::DeviceTransform; and the copy
// that bounds both.

#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>

#include "api.cuh"
#include "types.cuh"

namespace bench {
namespace {

constexpr int kCopiesPerThread = 4;

template <class T>
__global__ void plain_saxpy_kernel(T a, const T* x, const T* y, T* out, std::int64_t n) {
  const std::int64_t i = item();
  if (i < n) out[i] = multiply_add(a, x[i], y[i]);
}

template <class T>
struct MultiplyAdd {
  T a;
  __device__ T operator()(T x, T y) const { return multiply_add(a, x, y); }
};

__global__ void copy_kernel(const uint4* from, uint4* to, std::int64_t n) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads * kCopiesPerThread) + threadIdx.x;
  uint4 value[kCopiesPerThread];
#pragma unroll
  for (int k = 0; k < kCopiesPerThread; ++k)
    if (first + k * kThreads < n) value[k] = from[first + k * kThreads];
#pragma unroll
  for (int k = 0; k < kCopiesPerThread; ++k)
    if (first + k * kThreads < n) to[first + k * kThreads] = value[k];
}

}  // namespace
}  // namespace bench

using bench::check;
using bench::guard;

/// out = a x + y, one element per thread. `a` is an element in host memory.
BENCH_API int bench_saxpy_plain(int dtype, const void* a, const void* x, const void* y, void* out,
                                std::int64_t n, void* stream) {
  return guard([&] {
    bench::with_dtype(dtype, [&](auto type) {
      using T = decltype(type);
      bench::launch(bench::plain_saxpy_kernel<T>, n, stream, *static_cast<const T*>(a),
                    static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out), n);
    });
  });
}

/// out = a x + y by cub::DeviceTransform.
BENCH_API int bench_saxpy_cub(int dtype, const void* a, const void* x, const void* y, void* out,
                              std::int64_t n, void* stream) {
  return guard([&] {
    bench::with_dtype(dtype, [&](auto type) {
      using T = decltype(type);
      check(cub::DeviceTransform::Transform(
          ::cuda::std::make_tuple(static_cast<const T*>(x), static_cast<const T*>(y)),
          static_cast<T*>(out), n, bench::MultiplyAdd<T>{*static_cast<const T*>(a)},
          static_cast<cudaStream_t>(stream)));
    });
  });
}

/// A copy of whole 16-byte words by a kernel.
BENCH_API int bench_copy_kernel(void* to, const void* from, std::int64_t bytes, void* stream) {
  return guard([&] {
    const std::int64_t n = bytes / static_cast<std::int64_t>(sizeof(uint4));
    const std::int64_t threads = (n + bench::kCopiesPerThread - 1) / bench::kCopiesPerThread;
    bench::launch(bench::copy_kernel, threads, stream, static_cast<const uint4*>(from),
                  static_cast<uint4*>(to), n);
  });
}

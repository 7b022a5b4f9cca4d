// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of saxpy. out may be x or y, so nothing is read through the read-only cache.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/pack.cuh"
#include "cuda/saxpy/math.cuh"
#include "cuda/saxpy/tuning.hpp"
#include "src/runtime/backend.hpp"

namespace gpukern::gpu {

/// A contiguous saxpy in packs, one a thread. The items before the first pack and behind the last
/// one, the edges, have a thread each.
struct SaxpySpan {
  const std::byte* x;  ///< at the first pack, as y and out
  const std::byte* y;
  std::byte* out;
  std::int64_t packs;
  int head;   ///< items before the first pack
  int edges;  ///< those and the ones behind the last pack
};

/// out = a * x + y for one pack each.
template <class T>
__device__ uint4 multiply_add(T a, uint4 x, uint4 y) {
  const auto left = Items<T>::of(x);
  const auto right = Items<T>::of(y);
  Items<T> result;
#pragma unroll
  for (int i = 0; i < Items<T>::kCount; ++i)
    multiply_add(a, left.item[i], right.item[i], result.item[i]);
  return result.pack();
}

/// An item outside the packs; of any alignment, unless the caller knows better.
template <class T, bool Aligned>
__device__ void edge(const SaxpySpan& span, T a, std::int64_t number) {
  if (number >= span.edges) return;
  const std::int64_t inside = number < span.head ? 0 : span.packs * Items<T>::kCount;
  const std::int64_t at = (inside + number - span.head) * static_cast<std::int64_t>(sizeof(T));
  T result;
  if constexpr (Aligned) {
    multiply_add(a, *reinterpret_cast<const T*>(span.x + at),
                 *reinterpret_cast<const T*>(span.y + at), result);
    *reinterpret_cast<T*>(span.out + at) = result;
  } else {
    multiply_add(a, load_bytes<T>(span.x + at), load_bytes<T>(span.y + at), result);
    store_bytes(span.out + at, result);
  }
}

__device__ inline std::int64_t thread_of_grid() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// Operands that lie on packs together.
template <class T>
__global__ void saxpy_kernel(const SaxpySpan span, T a) {
  wait_for_previous();
  let_next_start();
  const std::int64_t p = thread_of_grid();
  if (p >= span.packs) return edge<T, true>(span, a, p - span.packs);
  const uint4 x = reinterpret_cast<const uint4*>(span.x)[p];
  const uint4 y = reinterpret_cast<const uint4*>(span.y)[p];
  reinterpret_cast<uint4*>(span.out)[p] = multiply_add(a, x, y);
}

/// Few elements, one a thread: more multiprocessors take part than have packs. (H200: with 32-bit
/// positions the same kernel takes 8% longer.)
template <class T>
__global__ void saxpy_few_kernel(T a, const T* x, const T* y, T* out, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kSaxpyFewThreads + threadIdx.x;
  wait_for_previous();
  let_next_start();
  if (i >= count) return;
  T result;
  multiply_add(a, x[i], y[i], result);
  out[i] = result;
}

/// Operands of any alignment: packs at any address are joined from the two that they straddle.
/// The span leaves room for that: see saxpy.cu.
template <class T>
__global__ void saxpy_shifted_kernel(const SaxpySpan span, T a) {
  wait_for_previous();
  let_next_start();
  const std::int64_t p = thread_of_grid();
  uint4 result{};
  if (p < span.packs) {
    const PackReader x(span.x);
    const PackReader y(span.y);
    const PackReader::Loaded left = x.load(p);
    const PackReader::Loaded right = y.load(p);
    result = multiply_add(a, x.pack(left), y.pack(right));
  }
  PackWriter(span.out).store(p, result, span.packs);
  if (p >= span.packs) edge<T, false>(span, a, p - span.packs);
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

}  // namespace gpukern::gpu

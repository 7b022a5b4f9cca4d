// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of saxpy. out may be x or y, so nothing is read through the read-only cache.
#pragma once

#include "../src/backend.hpp"
#include "bulk_copy.cuh"
#include "launch.cuh"
#include "pack.cuh"
#include "saxpy_math.cuh"

namespace gpukern::gpu {

/// A contiguous saxpy. Items from `head` on are computed in packs; those before them and behind
/// the last pack, together at most kMaxEdges, one by one by the threads of block 0.
struct SaxpySpan {
  const std::byte* x;
  const std::byte* y;
  std::byte* out;
  std::int64_t count;
  std::int64_t packs;
  int head;
};
inline constexpr int kMaxEdges = 96;

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

/// The items outside the packs; of any alignment, unless the caller knows better.
template <class T, bool Aligned>
__device__ void edges(const SaxpySpan& span, T a) {
  const std::int64_t inside = threadIdx.x < span.head ? 0 : span.packs * Items<T>::kCount;
  const std::int64_t i = inside + threadIdx.x;
  if (blockIdx.x != 0 || i >= span.count) return;
  const std::int64_t at = i * static_cast<std::int64_t>(sizeof(T));
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

/// Operands that lie on packs together: each thread takes `Packs` of each.
template <class T, int Packs>
__global__ void saxpy_kernel(const SaxpySpan span, T a) {
  const std::int64_t skip = span.head * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t first = std::int64_t{blockIdx.x} * (blockDim.x * Packs) + threadIdx.x;
  const auto* x = reinterpret_cast<const uint4*>(span.x + skip) + first;
  const auto* y = reinterpret_cast<const uint4*>(span.y + skip) + first;
  auto* out = reinterpret_cast<uint4*>(span.out + skip) + first;
  uint4 left[Packs];
  uint4 right[Packs];
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    if (first + k * blockDim.x >= span.packs) continue;
    left[k] = x[k * blockDim.x];
    right[k] = y[k * blockDim.x];
  }
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    if (first + k * blockDim.x >= span.packs) continue;
    out[k * blockDim.x] = multiply_add(a, left[k], right[k]);
  }
  edges<T, true>(span, a);
}

/// Operands of any alignment: packs at any address are joined from the two that they straddle.
/// The span leaves room for that: see saxpy.cu.
template <class T, int Packs>
__global__ void saxpy_shifted_kernel(const SaxpySpan span, T a) {
  const std::int64_t skip = span.head * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t first = std::int64_t{blockIdx.x} * (blockDim.x * Packs) + threadIdx.x;
  const PackReader x(span.x + skip);
  const PackReader y(span.y + skip);
  const PackWriter out(span.out + skip);
  PackReader::Loaded left[Packs];
  PackReader::Loaded right[Packs];
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    const std::int64_t p = first + k * blockDim.x;
    if (p >= span.packs) continue;
    left[k] = x.load(p);
    right[k] = y.load(p);
  }
#pragma unroll
  for (int k = 0; k < Packs; ++k) {
    const std::int64_t p = first + k * blockDim.x;
    uint4 result{};
    if (p < span.packs) result = multiply_add(a, x.pack(left[k]), y.pack(right[k]));
    out.store(p, result, span.packs);
  }
  edges<T, false>(span, a);
}

/// What lies between the tiles of x and y in shared memory: the pack that a shifted tile has more,
/// rounded up to the alignment that bulk copies like best.
inline constexpr int kTileGap = 128 / kPackBytes;

constexpr std::size_t bulk_shared_bytes(int tile) {
  return static_cast<std::size_t>(2 * (tile + kTileGap)) * kPackBytes;
}

/// Each block copies one tile of x and of y to shared memory by two bulk copies and computes from
/// there, `tile` packs. Takes x and y of any alignment; out lies on packs behind the head. Such
/// copies keep more bytes in flight than registers do (the way of CUB's DeviceTransform).
template <class T>
__global__ void saxpy_bulk_kernel(const SaxpySpan span, T a, int tile) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) uint4 shared[];
  __shared__ BulkBarrier barrier;
  const std::int64_t skip = span.head * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t base = std::int64_t{blockIdx.x} * tile;
  const int here = static_cast<int>(span.packs - base < tile ? span.packs - base : tile);
  const PackReader x(span.x + skip);
  const PackReader y(span.y + skip);
  uint4* const x_tile = shared;
  uint4* const y_tile = shared + tile + kTileGap;
  if (threadIdx.x == 0) {
    barrier.initialise();
    barrier.expect(x.bytes(here) + y.bytes(here));
    barrier.copy(x_tile, x.source(base), x.bytes(here));
    barrier.copy(y_tile, y.source(base), y.bytes(here));
  }
  __syncthreads();
  barrier.wait(0);
  const PackReader x_here(x_tile, x.shift());
  const PackReader y_here(y_tile, y.shift());
  auto* out = reinterpret_cast<uint4*>(span.out + skip) + base;
  for (int p = threadIdx.x; p < here; p += blockDim.x)
    out[p] = multiply_add(a, x_here.pack(x_here.load(p)), y_here.pack(y_here.load(p)));
  edges<T, false>(span, a);
#endif
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

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The kernels of saxpy, and of axpby by numbers, on contiguous memory. out may be x or y, so
// nothing is read through the read-only cache.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/saxpy/math.cuh"
#include "cuda/saxpy/tuning.hpp"

namespace gpukern::gpu {

/// A contiguous saxpy in words of 16 bytes, one per thread. The edges, that is the items before the
/// first word and after the last one, have a thread each.
struct SaxpySpan {
  const std::byte* x;  ///< at the first word, as y and out
  const std::byte* y;
  std::byte* out;
  std::int64_t words;
  int head;   ///< items before the first word
  int edges;  ///< those and the items after the last word
};

/// One word of each.
template <class T>
__device__ uint4 scaled_word(const Scale<T>& scale, uint4 x, uint4 y) {
  const auto left = bits_as<WordVector<T>>(x);
  const auto right = bits_as<WordVector<T>>(y);
  WordVector<T> result;
#pragma unroll
  for (int i = 0; i < kPerWord<T>; ++i)
    scale.apply(left.element[i], right.element[i], result.element[i]);
  return bits_as<uint4>(result);
}

/// An item outside the words, of any alignment unless Aligned.
template <class T, bool Aligned>
__device__ void edge(const SaxpySpan& span, const Scale<T>& scale, std::int64_t number) {
  if (number >= span.edges) return;
  const std::int64_t inside = number < span.head ? 0 : span.words * kPerWord<T>;
  const std::int64_t at = (inside + number - span.head) * static_cast<std::int64_t>(sizeof(T));
  T result;
  if constexpr (Aligned) {
    scale.apply(*reinterpret_cast<const T*>(span.x + at), *reinterpret_cast<const T*>(span.y + at),
                result);
    *reinterpret_cast<T*>(span.out + at) = result;
  } else {
    scale.apply(load_unaligned<T>(span.x + at), load_unaligned<T>(span.y + at), result);
    store_unaligned(span.out + at, result);
  }
}

__device__ inline std::int64_t thread_of_grid() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// Operands with the same alignment to words.
template <class T>
__global__ void saxpy_kernel(const SaxpySpan span, const Scale<T> scale) {
  wait_for_previous();
  launch_next();
  const std::int64_t p = thread_of_grid();
  if (p >= span.words) return edge<T, true>(span, scale, p - span.words);
  const uint4 x = reinterpret_cast<const uint4*>(span.x)[p];
  const uint4 y = reinterpret_cast<const uint4*>(span.y)[p];
  reinterpret_cast<uint4*>(span.out)[p] = scaled_word(scale, x, y);
}

/// A few elements, one per thread, so that more multiprocessors take part. Positions have 64 bits
/// because that is faster: benchmarks/notes/saxpy.md#few-elements.
template <class T>
__global__ void saxpy_small_kernel(const Scale<T> scale, const T* x, const T* y, T* out,
                                   std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kSaxpySmallThreads + threadIdx.x;
  wait_for_previous();
  launch_next();
  if (i >= count) return;
  T result;
  scale.apply(x[i], y[i], result);
  out[i] = result;
}

/// Operands of any alignment: a word at any address is shifted out of the two aligned words that
/// contain it. The span leaves space for these: see saxpy.cu.
template <class T>
__global__ void saxpy_shifted_kernel(const SaxpySpan span, const Scale<T> scale) {
  wait_for_previous();
  launch_next();
  const std::int64_t p = thread_of_grid();
  uint4 result{};
  if (p < span.words) {
    const UnalignedReader x(span.x);
    const UnalignedReader y(span.y);
    const UnalignedReader::Loaded left = x.load(p);
    const UnalignedReader::Loaded right = y.load(p);
    result = scaled_word(scale, x.word(left), y.word(right));
  }
  UnalignedWriter(span.out).store(p, result, span.words);
  if (p >= span.words) edge<T, false>(span, scale, p - span.words);
}

}  // namespace gpukern::gpu

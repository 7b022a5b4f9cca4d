// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The kernel of saxpy_many: contiguous arrays of a list, in tiles of one block each. As in
// kernels.cuh, nothing is read through the read-only cache.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/saxpy/kernels.cuh"
#include "cuda/saxpy/tuning.hpp"

namespace gpukern::gpu {

/// Words of a tile of out, whose words are aligned: the first and the last one of an array may have
/// elements outside it.
inline constexpr int kTileWords = kSaxpyManyThreads * kSaxpyManyWords;

/// Arrays of a list, by value in the parameters of a launch. What the search of a tile reads is
/// together, and so in few lines of the constant cache.
template <class T, int kEntries>
struct SaxpyTable {
  static constexpr int kSize = kEntries;
  Scale<T> scale;
  int entries = 0;
  std::uint32_t first[kEntries];  ///< the number of the entry's first tile, in ascending order
  std::uint32_t count[kEntries];  ///< of elements
  const std::byte* x[kEntries];   ///< aligned to an element, as y and out
  const std::byte* y[kEntries];
  std::byte* out[kEntries];
};

/// The arrays of an entry.
template <class T>
struct SaxpyArrays {
  const std::byte* x;
  const std::byte* y;
  std::byte* out;
  int count;

  __device__ static std::int64_t bytes(int elements) {
    return elements * static_cast<std::int64_t>(sizeof(T));
  }
  /// Elements [begin, begin + a word) that are in the arrays.
  __device__ void edge(const Scale<T>& scale, int begin) const {
    const int end = min(begin + kPerWord<T>, count);
    for (int i = max(begin, 0); i < end; ++i) {
      T result;
      scale.apply(*reinterpret_cast<const T*>(x + bytes(i)),
                  *reinterpret_cast<const T*>(y + bytes(i)), result);
      *reinterpret_cast<T*>(out + bytes(i)) = result;
    }
  }
  __device__ void store(int begin, uint4 word) const {
    *reinterpret_cast<uint4*>(out + bytes(begin)) = word;
  }
};

/// A thread's words of a tile, from element `begin` on, where the words of x and y are aligned as
/// well. The loads of all words come first, so that they overlap.
template <class T>
__device__ void compute_aligned(const SaxpyArrays<T>& arrays, const Scale<T>& scale, int begin) {
  constexpr int kStep = kSaxpyManyThreads * kPerWord<T>;
  const auto is_whole = [&](int at) { return at >= 0 && at + kPerWord<T> <= arrays.count; };
  uint4 x[kSaxpyManyWords];
  uint4 y[kSaxpyManyWords];
#pragma unroll
  for (int w = 0; w < kSaxpyManyWords; ++w) {
    const int at = begin + w * kStep;
    if (!is_whole(at)) continue;
    x[w] = *reinterpret_cast<const uint4*>(arrays.x + arrays.bytes(at));
    y[w] = *reinterpret_cast<const uint4*>(arrays.y + arrays.bytes(at));
  }
#pragma unroll
  for (int w = 0; w < kSaxpyManyWords; ++w) {
    const int at = begin + w * kStep;
    if (is_whole(at))
      arrays.store(at, scaled_word(scale, x[w], y[w]));
    else
      arrays.edge(scale, at);
  }
}

/// The same where a word of x or y is shifted out of the two aligned words that contain it: not so
/// at the ends of the arrays, outside which these would begin or end.
template <class T>
__device__ void compute_shifted(const SaxpyArrays<T>& arrays, const Scale<T>& scale, int begin) {
  constexpr int kStep = kSaxpyManyThreads * kPerWord<T>;
#pragma unroll 1
  for (int w = 0; w < kSaxpyManyWords; ++w) {
    const int at = begin + w * kStep;
    if (at >= kPerWord<T> && at + 2 * kPerWord<T> <= arrays.count) {
      const UnalignedReader x(arrays.x + arrays.bytes(at));
      const UnalignedReader y(arrays.y + arrays.bytes(at));
      const UnalignedReader::Loaded left = x.load(0);
      const UnalignedReader::Loaded right = y.load(0);
      arrays.store(at, scaled_word(scale, x.word(left), y.word(right)));
    } else {
      arrays.edge(scale, at);
    }
  }
}

/// The entry of a tile: the last one whose first tile is not behind it.
template <class Table>
__device__ int entry_of(const Table& table, std::uint32_t tile) {
  int low = 0;
  int high = table.entries;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (table.first[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

template <class T, int kEntries>
__global__ void __launch_bounds__(kSaxpyManyThreads)
    saxpy_many_kernel(const __grid_constant__ SaxpyTable<T, kEntries> table) {
  const int entry = entry_of(table, blockIdx.x);
  const SaxpyArrays<T> arrays{table.x[entry], table.y[entry], table.out[entry],
                              static_cast<int>(table.count[entry])};
  const int word = static_cast<int>(blockIdx.x - table.first[entry]) * kTileWords +
                   static_cast<int>(threadIdx.x);
  const int before = static_cast<int>(misalignment(arrays.out) / sizeof(T));
  const int begin = word * kPerWord<T> - before;
  const bool aligned = misalignment(arrays.x) == misalignment(arrays.out) &&
                       misalignment(arrays.y) == misalignment(arrays.out);
  wait_for_previous();
  launch_next();
  if (aligned)
    compute_aligned(arrays, table.scale, begin);
  else
    compute_shifted(arrays, table.scale, begin);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/gather/shared_words.cuh"

namespace gpukern::gpu {

struct LastAxisSharedArgs {
  const std::byte* source;
  ByteRange memory;  ///< all rows
  const std::byte* index;
  std::byte* out;
  std::int64_t outer;
  std::int64_t outer_stride;
  std::int64_t held;  ///< items of a row in shared memory, from its start on
  std::int64_t count;
  std::int64_t rows;               ///< of a block
  FastDivmod<std::int64_t> words;  ///< that hold these
  int words_of_row;
  int across;    ///< threads along the index; the others of the block take other rows
  bool vectors;  ///< index and out's rows are aligned to vectors
};

/// out[o, i] = source[o, index[i]], axis contiguous. A block copies whole rows of the source to
/// shared memory, in order, and gathers there. With kLarge, the rest of a row that does not fit
/// is read from the L2 cache.
template <class Item, class Raw, int kCount, bool kLarge>
__global__ void __launch_bounds__(kLarge ? kLastAxisSharedLargeThreads : kLastAxisSharedThreads)
    gather_last_axis_shared_kernel(const __grid_constant__ LastAxisSharedArgs args,
                                   const __grid_constant__ Bounds<Raw> bounds,
                                   const __grid_constant__ Fill fill) {
  const std::int64_t begin = blockIdx.x * args.rows;
  const auto rows =
      static_cast<int>(begin + args.rows < args.outer ? args.rows : args.outer - begin);
  const std::byte* const source = args.source + begin * args.outer_stride;
  uint4* const shared = shared_words();
  for (auto at = args.words.advance({0, 0}, threadIdx.x); at.quotient < rows;
       at = args.words.advance(at, blockDim.x)) {
    const std::byte* const row = source + at.quotient * args.outer_stride;
    const std::byte* const word = word_of(row) + at.remainder * 16;
    if (word < row + args.held * std::int64_t{sizeof(Item)})
      copy_word_async(shared + at.quotient * args.words_of_row + at.remainder, word, args.memory);
  }
  wait_for_copies();
  __syncthreads();

  const auto across = static_cast<unsigned>(args.across);
  const int groups = static_cast<int>(blockDim.x / across);
  const int group = static_cast<int>(threadIdx.x / across);
  // A thread's items are neighbours for vector stores; else far apart, so that warps store whole
  // lines.
  const std::int64_t apart = args.vectors ? 1 : across;
  const std::int64_t start = threadIdx.x % across * (args.vectors ? kCount : 1);
  using Indices = Vector<Raw, kCount>;
  const Raw* const index = reinterpret_cast<const Raw*>(args.index);
  const auto load_indices = [&](std::int64_t first) {
    Indices raw{};
    if (args.vectors && first + kCount <= args.count)
      raw = *reinterpret_cast<const Indices*>(index + first);
    else
      for (int j = 0; j < kCount; ++j)
        if (first + j * apart < args.count) raw.element[j] = index[first + j * apart];
    return raw;
  };
  const auto gather = [&](std::int64_t first, const Indices& raw) {
    const bool whole = args.vectors && first + kCount <= args.count;
    std::int64_t position[kCount];
    bounds.positions(raw.element, position);
#pragma unroll 4
    for (int r = group; r < rows; r += groups) {
      const auto shift = reinterpret_cast<std::uintptr_t>(source + r * args.outer_stride) & 15;
      const auto* const row = reinterpret_cast<const Item*>(
          reinterpret_cast<const std::byte*>(shared + r * args.words_of_row) + shift);
      const auto* const in_memory = reinterpret_cast<const Item*>(source + r * args.outer_stride);
      Vector<Item, kCount> items;
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        if (kLarge && position[j] >= args.held)
          items.element[j] = __ldg(in_memory + position[j]);
        else
          items.element[j] = position[j] < 0 ? fill.word<Item>(0) : row[position[j]];
      }
      Item* const to = reinterpret_cast<Item*>(args.out) + (begin + r) * args.count + first;
      if (whole) {
        store_streaming(reinterpret_cast<Vector<Item, kCount>*>(to), items);
        continue;
      }
      for (int j = 0; j < kCount; ++j)
        if (first + j * apart < args.count) __stcs(to + j * apart, items.element[j]);
    }
  };
  // The only block of a multiprocessor has several loads of each thread in flight.
  constexpr int kBatch = kLarge ? 4 : 1;
  const std::int64_t step = std::int64_t{across} * kCount;
  for (std::int64_t first = start; first < args.count; first += kBatch * step) {
    Indices raw[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) raw[k] = load_indices(first + k * step);
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      if (first + k * step < args.count) gather(first + k * step, raw[k]);
  }
}

}  // namespace gpukern::gpu

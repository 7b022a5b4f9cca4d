// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The fixed tree of src/core/reduce.hpp over the blocks of one sequence.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cuda/common/reduction.cuh"

namespace gpukern::gpu {

/// Levels of a binary counter: level(k) refers to the combination of 2^k blocks, of the `taken`
/// ones so far. Takes another 2^k blocks.
template <class A, class Level, class Reducer>
__device__ void push_block(const Level& level, std::uint64_t taken, int k, A sum,
                           const Reducer& reduction) {
  for (; (taken >> k & 1) != 0; ++k) sum = combine(reduction, level(k), sum);
  level(k) = sum;
}

/// Joins the levels and a last combination.
template <class A, class Level, class Reducer>
__device__ A join_levels(const Level& level, std::uint64_t taken, A sum, const Reducer& reduction) {
  for (int k = 0; taken >> k != 0; ++k)
    if ((taken >> k & 1) != 0) sum = combine(reduction, level(k), sum);
  return sum;
}

/// Joins blocks [begin, end); `begin` is a multiple of a power of two that is at least their
/// number. block(b) is the combination of block b. Loads kBatch blocks, 1 or 8, before it joins
/// them.
template <class A, int kBatch = 8, class Block, class Reducer>
__device__ A join_blocks(const Block& block, std::int64_t begin, std::int64_t end,
                         const Reducer& reduction) {
  constexpr int kMaxLevels = 48;
  constexpr int kBatchLevel = kBatch == 1 ? 0 : 3;
  static_assert(kBatch == 1 << kBatchLevel);
  A levels[kMaxLevels];
  const auto level = [&](int k) -> A& { return levels[k]; };
  std::uint64_t taken = 0;
  const auto take = [&](A sum, int k) {
    push_block(level, taken, k, sum, reduction);
    taken += std::uint64_t{1} << k;
  };
  std::int64_t b = begin;
  for (; b + kBatch <= end; b += kBatch) {
    A sum[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) sum[i] = block(b + i);
#pragma unroll
    for (int step = 1; step < kBatch; step *= 2)
#pragma unroll
      for (int i = 0; i < kBatch; i += 2 * step) sum[i] = combine(reduction, sum[i], sum[i + step]);
    take(sum[0], kBatchLevel);
  }
  if constexpr (kBatch > 1)
    for (; b < end; ++b) take(block(b), 0);
  const A sum = levels[__ffsll(static_cast<long long>(taken)) - 1];
  return join_levels(level, taken & (taken - 1), sum, reduction);
}

/// The columns that a thread block joins at a time, at most `most`.
inline int join_width(std::int64_t columns, std::uint64_t most = 32) {
  return static_cast<int>(std::min(std::bit_ceil(static_cast<std::uint64_t>(columns)), most));
}

/// By a thread block of which `width` threads have the same part of the blocks, and as many
/// columns: each thread joins an aligned part, then parts are joined pairwise. The result is that
/// of the threads of part 0; all threads call this. `joined` is shared memory for an element per
/// thread; `active` is false for threads without a column. See join_blocks() for kBatch.
template <int kBlockThreads, int kBatch = 8, class A, class Block, class Reducer>
__device__ A join_by_threads(const Block& block, std::int64_t blocks, int width, bool active,
                             const Reducer& reduction, A* joined) {
  const int parts = kBlockThreads / width;
  const int part = static_cast<int>(threadIdx.x) / width;
  std::int64_t each = 1;
  while (each * parts < blocks) each *= 2;
  active = active && part * each < blocks;
  if (active)
    joined[threadIdx.x] =
        join_blocks<A, kBatch>(block, part * each, min((part + 1) * each, blocks), reduction);
  for (int step = 1; step < parts && step * each < blocks; step *= 2) {
    __syncthreads();
    const bool has_next = part % (2 * step) == 0 && (part + step) * each < blocks;
    if (active && has_next)
      joined[threadIdx.x] =
          combine(reduction, joined[threadIdx.x], joined[threadIdx.x + step * width]);
  }
  const A sum = joined[threadIdx.x];
  __syncthreads();
  return sum;
}

}  // namespace gpukern::gpu

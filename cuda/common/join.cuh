// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The fixed tree of src/core/reduce.hpp over the blocks of one sequence.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "src/core/reduce.hpp"

namespace gpukern::gpu {

/// Joins blocks [begin, end); `begin` is a multiple of a power of two that is at least their
/// number. Level k of the counter holds 2^k blocks. block(b) is the combination of block b.
template <class A, class Block>
__device__ A join_blocks(const Block& block, std::int64_t begin, std::int64_t end,
                         gpukern_reduce reduce) {
  constexpr int kMaxLevels = 48;
  A level[kMaxLevels];
  std::uint64_t taken = 0;
  for (std::int64_t b = begin; b < end; ++b) {
    A sum = block(b);
    int k = 0;
    for (; (taken >> k & 1) != 0; ++k) sum = combine(reduce, level[k], sum);
    level[k] = sum;
    ++taken;
  }
  int k = __ffsll(static_cast<long long>(taken)) - 1;
  A sum = level[k];
  for (++k; taken >> k != 0; ++k)
    if ((taken >> k & 1) != 0) sum = combine(reduce, level[k], sum);
  return sum;
}

/// By a thread block of which `width` threads have the same part of the blocks, and as many
/// columns: each thread joins an aligned part, then parts are joined pairwise. The result is that
/// of the threads of part 0; all threads call this. `joined` is shared memory for an element per
/// thread; `active` is false for threads without a column.
template <int kBlockThreads, class A, class Block>
__device__ A join_by_threads(const Block& block, std::int64_t blocks, int width, bool active,
                             gpukern_reduce reduce, A* joined) {
  const int parts = kBlockThreads / width;
  const int part = static_cast<int>(threadIdx.x) / width;
  std::int64_t each = 1;
  while (each * parts < blocks) each *= 2;
  active = active && part * each < blocks;
  if (active)
    joined[threadIdx.x] =
        join_blocks<A>(block, part * each, min((part + 1) * each, blocks), reduce);
  for (int step = 1; step < parts; step *= 2) {
    __syncthreads();
    const bool has_next = part % (2 * step) == 0 && (part + step) * each < blocks;
    if (active && has_next)
      joined[threadIdx.x] =
          combine(reduce, joined[threadIdx.x], joined[threadIdx.x + step * width]);
  }
  const A sum = joined[threadIdx.x];
  __syncthreads();
  return sum;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Asynchronous copies to shared memory of the aligned words that hold bytes at any alignment.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstddef>
#include <cstdint>

namespace gpukern::gpu {

/// Bytes that may be read.
struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
};

/// The aligned word that holds the byte at an address.
__device__ inline const std::byte* word_of(const std::byte* address) {
  return address - (reinterpret_cast<std::uintptr_t>(address) & 15);
}

/// Copies the aligned word at `from` to shared memory; of a word at the edge of `memory` only the
/// bytes that belong to it. wait_for_copies() and a barrier complete it. `is_repeated` tells that
/// other thread blocks read it, too: the L2 cache would serve them one by one, so it is kept in the
/// L1 cache, which other words pass by.
__device__ inline void copy_word_async(uint4* to, const std::byte* from, const ByteRange& memory,
                                       bool is_repeated = false) {
  if (from >= memory.begin && from + 16 <= memory.end) {
#if __CUDA_ARCH__ >= 800
    if (is_repeated) {
      const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
      asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
      return;
    }
#endif
    __pipeline_memcpy_async(to, from, 16);
    return;
  }
  for (int b = 0; b < 16; ++b)
    if (from + b >= memory.begin && from + b < memory.end)
      reinterpret_cast<std::byte*>(to)[b] = from[b];
}

__device__ inline void wait_for_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Warps.
#pragma once

#include <cuda_runtime.h>

#include <cstring>

namespace gpukern::gpu {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = ~0U;

/// The value of another lane; all threads of the warp call this.
template <class A>
__device__ A of_lane(const A& value, int lane) {
  unsigned words[(sizeof(A) + sizeof(unsigned) - 1) / sizeof(unsigned)]{};
  std::memcpy(words, &value, sizeof(A));
  for (unsigned& word : words) word = __shfl_sync(kAllLanes, word, lane);
  A other;
  std::memcpy(&other, words, sizeof(A));
  return other;
}

}  // namespace gpukern::gpu

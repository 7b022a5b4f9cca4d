// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Warps.
#pragma once

#include <cuda_runtime.h>

#include <cstring>

namespace gpukern::gpu {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = ~0U;

/// A value of any size whose words `shuffle` has exchanged with those of other lanes.
template <class A, class Shuffle>
__device__ A shuffle_words(A value, const Shuffle& shuffle) {
  constexpr int kWords = (sizeof(A) + sizeof(unsigned) - 1) / sizeof(unsigned);
  unsigned words[kWords]{};
  std::memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int w = 0; w < kWords; ++w) words[w] = shuffle(words[w]);
  A other;
  std::memcpy(&other, words, sizeof(A));
  return other;
}

/// The value of another lane; all threads of the warp call this.
template <class A>
__device__ A of_lane(const A& value, int lane) {
  return shuffle_words(value, [lane](unsigned word) { return __shfl_sync(kAllLanes, word, lane); });
}

/// The value of the lane whose number differs in the bits of `mask`; all threads of the warp call
/// this.
template <class A>
__device__ A shuffle_xor(A value, unsigned mask) {
  return shuffle_words(value,
                       [mask](unsigned word) { return __shfl_xor_sync(kAllLanes, word, mask); });
}

}  // namespace gpukern::gpu

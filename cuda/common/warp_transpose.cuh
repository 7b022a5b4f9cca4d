// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Exchange of elements between the lanes of a warp.
#pragma once

#include "cuda/common/warp.cuh"

namespace gpukern::gpu {

/// Transposes the square of kCount elements in each of kCount neighbouring lanes.
template <class T, int kCount>
__device__ void warp_transpose(T (&element)[kCount]) {
#pragma unroll
  for (int bit = 1; bit < kCount; bit *= 2) {
    const bool upper = (threadIdx.x & bit) != 0;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if ((j & bit) != 0) continue;
      const T low = element[j];
      const T high = element[j | bit];
      const T sent = upper ? low : high;
      const T other = shuffle_xor(sent, bit);
      element[j] = upper ? other : low;
      element[j | bit] = upper ? high : other;
    }
  }
}

}  // namespace gpukern::gpu

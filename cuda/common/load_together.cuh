// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Loads of a thread block that are in flight together.
#pragma once

#include <cuda_runtime.h>

namespace gpukern::gpu {

/// Calls store(i, load(i)) for every i below `end` of this thread, kStep apart. Loads kTogether
/// before it stores one: a compiler that cannot tell that the stores do not change what is loaded
/// next has a thread wait for each load.
template <int kStep, int kTogether, class Load, class Store>
__device__ void load_together(int end, const Load& load, const Store& store) {
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < end; first += kStep * kTogether) {
    decltype(load(0)) loaded[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) loaded[k] = load(min(first + k * kStep, end - 1));
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      if (first + k * kStep < end) store(first + k * kStep, loaded[k]);
  }
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Several stages of work by one kernel, where the launch of a kernel for each would take longer
// than most of them.
#pragma once

#include <cuda/atomic>

namespace gpukern::gpu {

/// Each stage has one or more items, and begins once all items of the one before are done. Thread
/// blocks take the items in order. One that waits does so for earlier items, which running blocks
/// have taken, so that no number of blocks needs to be resident.
template <int kStages>
struct Stages {
  /// Numbers in global memory, zero at first: items taken, and items of each stage that are done.
  static constexpr int kNumbers = 1 + kStages;

  using Number = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

  unsigned* numbers;
  unsigned items[kStages];

  /// Calls visit(stage, item) for the items that this thread block takes. All its threads call
  /// this, and visit() together.
  template <class Visit>
  __device__ void run(const Visit& visit) const {
    __shared__ unsigned taken;
    const bool is_first = threadIdx.x == 0;
    for (;;) {
      if (is_first) taken = Number(numbers[0]).fetch_add(1, cuda::memory_order_relaxed);
      __syncthreads();
      unsigned item = taken;
      int stage = 0;
      while (stage < kStages && item >= items[stage]) item -= items[stage++];
      if (stage == kStages) return;
      if (is_first && stage > 0) wait_for(Number(numbers[stage]), items[stage - 1]);
      __syncthreads();
      visit(stage, item);
      __syncthreads();
      if (is_first) Number(numbers[1 + stage]).fetch_add(1, cuda::memory_order_release);
    }
  }

 private:
  /// The fence follows the wait: each load that acquires invalidates the L1 cache, which other
  /// blocks use.
  static __device__ void wait_for(Number done, unsigned wanted) {
    while (done.load(cuda::memory_order_relaxed) < wanted) __nanosleep(20);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  }
};

}  // namespace gpukern::gpu

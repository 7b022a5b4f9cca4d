// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How persistent blocks share work.
#pragma once

namespace gpukern::gpu {

/// Persistent blocks take work tiles in order from a counter in device memory, after those that
/// have the numbers of the blocks. With a fixed share for each, blocks drift apart: the direct
/// gather loses a tenth of the bandwidth, and what neighbouring tiles of the fetches have in common
/// leaves the L2 cache between them. All threads of a block call the functions together.
class WorkTiles {
 public:
  struct Shared {
    unsigned taken[2];
  };

  /// The counter starts at zero. `shared` is in shared memory.
  __device__ WorkTiles(unsigned* counter, Shared& shared) : counter_(counter), shared_(shared) {}

  /// Requests the number that take() returns, so that the work between them hides the latency.
  __device__ void request() {
    if (threadIdx.x == 0) next_ = atomicAdd(counter_, 1);
  }

  /// Synchronizes the block. The number is that of the last request, if there was one since the
  /// last take().
  __device__ unsigned take() {
    unsigned& taken = shared_.taken[round_++ % 2];
    if (threadIdx.x == 0) taken = next_;
    __syncthreads();
    return taken;
  }

 private:
  unsigned* counter_;
  Shared& shared_;
  unsigned next_ = 0;
  unsigned round_ = 0;
};

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Copies of a block from global to shared memory, by the bulk copy engine of compute capability 9.0
// and later.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/bulk_copy.cuh"

namespace gpukern::gpu {

/// Each thread of a block has one; all threads call its functions together.
class SharedCopy {
 public:
  /// `barrier` is in shared memory.
  __device__ explicit SharedCopy(BulkBarrier& barrier) : barrier_(barrier) {
    if (threadIdx.x == 0) barrier_.initialise();
    __syncthreads();
  }

  /// Starts a copy to memory that no thread uses any more. Both addresses are aligned to 16 bytes.
  __device__ void start(void* to, const void* from, unsigned bytes) {
    const unsigned whole = bytes / 16 * 16;
    constexpr unsigned kPiece = 16384;
    if (threadIdx.x == 0) {
      barrier_.expect(whole);
      for (unsigned at = 0; at < whole; at += kPiece)
        barrier_.copy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at,
                      min(kPiece, whole - at));
    }
    // Reads no byte after the source: its last bytes are copied one by one.
    rest_ = whole < bytes;
    if (whole + threadIdx.x < bytes) {
      static_cast<std::byte*>(to)[whole + threadIdx.x] =
          static_cast<const std::byte*>(from)[whole + threadIdx.x];
      BulkBarrier::order_writes();
    }
  }

  /// Waits for the copy. The memory may be used again after a __syncthreads() of the caller.
  __device__ void wait() {
    barrier_.wait(phase_++);
    if (rest_) __syncthreads();
  }

 private:
  BulkBarrier& barrier_;
  unsigned phase_ = 0;
  bool rest_ = false;
};

}  // namespace gpukern::gpu

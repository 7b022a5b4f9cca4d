// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Before the passes: a sample of the indices.
#pragma once

#include "cuda/common/indexing.cuh"
#include "cuda/gather/partition/partition.cuh"

namespace gpukern::gpu {

/// A stretch of the sample for each block, see PartitionState. A forced partition is never
/// cancelled.
template <class Raw>
__global__ void __launch_bounds__(kPartitionThreads)
    partition_sample_kernel(const __grid_constant__ Partition call,
                            const __grid_constant__ Bounds<Raw> bounds, std::int64_t count,
                            std::int64_t item, std::int64_t window, bool forced) {
#if __CUDA_ARCH__ >= 900
  constexpr int kBitmapWords = 2048;
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // Fibonacci hashing (Knuth, TAOCP 3, 6.4)
  constexpr int kGranule = 10;  // so that positions beyond 2**32 compare as 32-bit numbers
  constexpr int kEach = kStretch / kPartitionThreads;
  __shared__ unsigned bitmap[kBitmapWords];
  __shared__ unsigned seen;
  wait_for_previous();
  __threadfence();  // the next kernel reads the indices before it waits for this one
  launch_next();
  const auto* const from = reinterpret_cast<const Raw*>(call.index) +
                           (count - kStretch) / (kStretches - 1) * blockIdx.x + threadIdx.x;
  Raw raw[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) raw[k] = from[k * kPartitionThreads];
  if (threadIdx.x == 0) seen = 0;
  for (unsigned w = threadIdx.x; w < kBitmapWords; w += kPartitionThreads) bitmap[w] = 0;
  for (unsigned b = blockIdx.x * kPartitionThreads + threadIdx.x; b < call.buckets;
       b += kStretches * kPartitionThreads)
    call.heavy_of[b] = 0;
  __syncthreads();
  unsigned fresh = 0;
  unsigned near = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const std::int64_t position = max(bounds.position(raw[k]), std::int64_t{0});
    const std::uint64_t sector = static_cast<std::uint64_t>(position * item) / 32;
    const auto hash = static_cast<unsigned>((sector * kGolden) >> 48);
    const unsigned bit = 1U << (hash % 32);
    // Neighbours in one sector would queue for one word.
    const bool same = __shfl_up_sync(~0U, sector, 1) == sector && threadIdx.x % 32 > 0;
    if (!same) fresh += (atomicOr(&bitmap[hash / 32], bit) & bit) == 0;
    if (k > 0) continue;
    const auto granule = static_cast<unsigned>(position >> kGranule);
    const unsigned span = __reduce_max_sync(~0U, granule) - __reduce_min_sync(~0U, granule);
    near = span < (window / item >> kGranule);
  }
  fresh = __reduce_add_sync(~0U, fresh);
  if (threadIdx.x % 32 == 0) atomicAdd(&seen, near << 16 | fresh);
  __syncthreads();
  if (threadIdx.x > 0) return;
  call.state->seen[blockIdx.x] = forced ? kStretch : seen;
  if (blockIdx.x == 0) call.state->extra_parts = call.state->taken = call.state->direct = 0;
#endif
}

}  // namespace gpukern::gpu

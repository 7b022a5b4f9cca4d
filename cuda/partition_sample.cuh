// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Before the passes: a look at a sample of the indices.
#pragma once

#include "gather_bounds.cuh"
#include "partition.cuh"

namespace gpukern::gpu {

/// The sample: stretches of neighbouring indices, evenly apart.
inline constexpr int kStretches = 4;
inline constexpr int kStretch = 4 * kPartitionThreads;

/// Direct access is fast if the indices of a stretch meet few different sectors of 32 bytes
/// (sorted, in blocks, often the same), or if those of a warp stay in a window that the L2 cache
/// holds (sorted, but far apart). A forced partition is never called off.
template <class Raw>
__global__ void __launch_bounds__(kPartitionThreads)
    partition_sample_kernel(const __grid_constant__ Partition call,
                            const __grid_constant__ Bounds<Raw> bounds, std::int64_t count,
                            std::int64_t item, std::int64_t window, bool forced) {
#if __CUDA_ARCH__ >= 900
  constexpr int kBitmapWords = 2048;
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // Fibonacci hashing (Knuth, TAOCP 3, 6.4)
  constexpr int kGranule = 10;  // so that positions beyond 2**32 compare as 32-bit numbers
  __shared__ unsigned bitmap[kStretches][kBitmapWords];
  __shared__ unsigned sectors;
  __shared__ unsigned near;
  Raw raw[kStretches][4];
#pragma unroll
  for (int s = 0; s < kStretches; ++s) {
    const auto* const from = reinterpret_cast<const Raw*>(call.index) +
                             (count - kStretch) / (kStretches - 1) * s + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; ++k) raw[s][k] = from[k * kPartitionThreads];
  }
  if (threadIdx.x == 0) sectors = near = 0;
  for (unsigned w = threadIdx.x; w < kStretches * kBitmapWords; w += kPartitionThreads)
    bitmap[0][w] = 0;
  for (unsigned b = threadIdx.x; b < call.buckets; b += kPartitionThreads) call.heavy_of[b] = 0;
  __syncthreads();
  unsigned fresh = 0;
#pragma unroll
  for (int s = 0; s < kStretches; ++s) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::int64_t position = max(bounds.position(raw[s][k]), std::int64_t{0});
      const std::uint64_t sector = static_cast<std::uint64_t>(position * item) / 32;
      const auto hash = static_cast<unsigned>((sector * kGolden) >> 48);
      const unsigned bit = 1U << (hash % 32);
      // Neighbours in one sector would queue for one word.
      const bool same = __shfl_up_sync(~0U, sector, 1) == sector && threadIdx.x % 32 > 0;
      if (!same) fresh += (atomicOr(&bitmap[s][hash / 32], bit) & bit) == 0;
      if (k > 0) continue;
      const auto granule = static_cast<unsigned>(position >> kGranule);
      const unsigned span = __reduce_max_sync(~0U, granule) - __reduce_min_sync(~0U, granule);
      if (threadIdx.x % 32 == 0 && span < (window / item >> kGranule)) atomicAdd(&near, 1);
    }
  }
  fresh = __reduce_add_sync(~0U, fresh);
  if (threadIdx.x % 32 == 0) atomicAdd(&sectors, fresh);
  __syncthreads();
  if (threadIdx.x == 0)
    *call.state = {.local = !forced && (sectors < kStretches * kStretch / 8 * 7 ||
                                        near > kStretches * kPartitionThreads / 32 / 2),
                   .extra_parts = 0,
                   .taken = 0};
#endif
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Before the passes: a sample of the indices.
#pragma once

#include <cooperative_groups.h>

#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/gather/partition/partition.cuh"
#include "cuda/gather/partition/position.cuh"

namespace gpukern::gpu {

/// What a direct gather of a run of neighbouring indices would read from memory. Which sectors a
/// run has read before is known of one in SampleCounts::kSectors, chosen by a hash of their
/// numbers, so that reuse counts at any distance within the run (C. Waldspurger, N. Park, A.
/// Garthwaite, I. Ahmad: Efficient MRC construction with SHARDS, 2015).
struct IndexSample {
  static constexpr int kLoads = 16;                ///< of a thread, in flight
  static constexpr int kGroup = 4;                 ///< of these, tested together
  static constexpr unsigned kFactor = 0x85ebca6b;  // of MurmurHash3 (A. Appleby, 2011)
  static constexpr unsigned kOffset = 0x9e3779b9;  // sector 0 is often hot
  static constexpr unsigned kSampledHashes = ~0U / SampleCounts::kSectors + 1;  ///< from 0 on
  static constexpr int kSeenBits = 1 << 16;

  /// A thread counts those of the second quarter times kEarly, and those of the second half.
  static constexpr unsigned kEarly = 1 << 16;

  static_assert(SampleCounts::kRun / 2 % (kLoads * kSampleCluster * kPartitionThreads) == 0);
  static_assert(SampleCounts::kRun / 4 % (kGroup * kSampleCluster * kPartitionThreads) == 0);
  static_assert(SampleCounts::kTested == SampleCounts::kRun / 2 / kGroup,
                "the first of each group");
  static_assert(SampleCounts::kRun / 2 / (kPartitionThreads / 32) < kEarly,
                "a warp of a single block");

  unsigned seen[kSeenBits / 32];
  SampleCounts counts;
};

/// Counts in a run for each of SampleCounts::kRuns clusters, or blocks where no cluster has room.
/// The first block of a cluster has the sample of all.
template <class Raw>
__global__ void __launch_bounds__(kPartitionThreads)
    partition_sample_kernel(const __grid_constant__ Partition call,
                            const __grid_constant__ Bounds<Raw> bounds, std::int64_t count) {
#if __CUDA_ARCH__ >= 900
  using Sample = IndexSample;
  __shared__ Sample sample;
  const auto cluster = cooperative_groups::this_cluster();
  for (unsigned w = threadIdx.x; w < Sample::kSeenBits / 32; w += kPartitionThreads)
    sample.seen[w] = 0;
  if (threadIdx.x == 0) sample.counts = {};
  cluster.sync();
  wait_for_previous();
  __threadfence();  // the next kernel reads the indices before it waits for this one
  launch_next();
  for (unsigned b = blockIdx.x * kPartitionThreads + threadIdx.x; b < call.buckets;
       b += gridDim.x * kPartitionThreads)
    call.heavy_of[b] = 0;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    call.state->extra_parts = call.state->taken = call.state->direct = 0;
  const unsigned blocks = cluster.num_blocks();
  const int threads = static_cast<int>(blocks * kPartitionThreads);
  const unsigned run = blockIdx.x / blocks;
  const bool leads = cluster.block_rank() == 0;
  if (count < SampleCounts::kRun) {  // only if the partition is forced
    if (leads && threadIdx.x == 0) call.state->counts[run] = {.near = SampleCounts::kTested};
    return;
  }
  Sample& shared = *cluster.map_shared_rank(&sample, 0);
  const unsigned lane = threadIdx.x % 32;
  const auto* const from =
      reinterpret_cast<const Raw*>(call.index) +
      (count - SampleCounts::kRun) / (32 * (SampleCounts::kRuns - 1)) * 32 * run +
      cluster.block_rank() * kPartitionThreads + threadIdx.x;
  constexpr unsigned kNoSector = ~0U;  // of the fill value
  const auto is_near_another = [lane](unsigned sector) {
    const unsigned other = __shfl_sync(~0U, sector, near_lane(lane, 1));
    return sector != kNoSector && are_near(sector, other);
  };
  unsigned sampled = 0;
  unsigned fresh = 0;
  unsigned far = 0;
  unsigned near = 0;
#pragma unroll 1
  for (int begin = 0; begin < SampleCounts::kRun; begin += Sample::kLoads * threads) {
    const bool late = begin >= SampleCounts::kRun / 2;
    Raw raw[Sample::kLoads];
#pragma unroll
    for (int k = 0; k < Sample::kLoads; ++k) raw[k] = from[begin + k * threads];
    if (begin == SampleCounts::kRun / 2) cluster.sync();
#pragma unroll
    for (int group = 0; group < Sample::kLoads; group += Sample::kGroup) {
      if (begin + group * threads == SampleCounts::kRun / 4) cluster.sync();
      unsigned sector[Sample::kGroup];
      unsigned least = ~0U;
#pragma unroll
      for (int k = 0; k < Sample::kGroup; ++k) {
        const std::int64_t position = position_of(bounds, raw[group + k]);
        sector[k] = static_cast<unsigned>(position >> call.sector_shift);
        least = min(least, sector[k] * Sample::kFactor + Sample::kOffset);
        if (k == 0 && late) near += is_near_another(sector[k]);
      }
      if (!__any_sync(~0U, least < Sample::kSampledHashes)) continue;
      const bool early = !late && begin + group * threads >= SampleCounts::kRun / 4;
      const unsigned one = early ? Sample::kEarly : 1;
#pragma unroll
      for (int k = 0; k < Sample::kGroup; ++k) {
        const unsigned hash = sector[k] * Sample::kFactor + Sample::kOffset;
        const unsigned before = __shfl_up_sync(~0U, sector[k], 1);
        const bool left_out = is_near_another(sector[k]);
        if (hash >= Sample::kSampledHashes) continue;
        const bool counted = (early || late) && !left_out;
        sampled += counted ? one : 0;
        if (lane > 0 && sector[k] == before) continue;
        const unsigned bit = hash / (Sample::kSampledHashes / Sample::kSeenBits);
        unsigned* const word = shared.seen + bit / 32;
        const unsigned mask = 1U << (bit % 32);
        // Most are seen already where many items are equal: no atomic operations on one word.
        if ((*static_cast<volatile unsigned*>(word) & mask) != 0) continue;
        const bool is_fresh = (atomicOr(word, mask) & mask) == 0;
        if (!counted || !is_fresh || (lane > 0 && sector[k] / 2 == before / 2)) continue;
        constexpr unsigned kFarSectors = 32;  // 1 KiB
        fresh += one;
        far += lane > 0 && max(sector[k], before) - min(sector[k], before) > kFarSectors;
      }
    }
  }
  sampled = __reduce_add_sync(~0U, sampled);
  fresh = __reduce_add_sync(~0U, fresh);
  far = __reduce_add_sync(~0U, far);
  near = __reduce_add_sync(~0U, near);
  if (lane == 0) {
    atomicAdd(&shared.counts.sampled[0], sampled / Sample::kEarly);
    atomicAdd(&shared.counts.sampled[1], sampled % Sample::kEarly);
    atomicAdd(&shared.counts.fresh[0], fresh / Sample::kEarly);
    atomicAdd(&shared.counts.fresh[1], fresh % Sample::kEarly);
    atomicAdd(&shared.counts.far, far);
    atomicAdd(&shared.counts.near, near);
  }
  cluster.sync();
  if (leads && threadIdx.x == 0) call.state->counts[run] = sample.counts;
#endif
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Before the passes: a sample of the indices.
#pragma once

#include <cooperative_groups.h>

#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/gather/partition/config.hpp"
#include "cuda/gather/partition/partition.cuh"
#include "cuda/gather/partition/uncommon_position.cuh"

namespace gpukern::gpu {

/// What a direct gather of a run of neighbouring indices would read from memory. Which sectors a
/// run has read before is known of one in kSampledSectors, chosen by a hash of their numbers, so
/// that reuse counts at any distance within the run (C. Waldspurger, N. Park, A. Garthwaite, I.
/// Ahmad: Efficient MRC construction with SHARDS, 2015).
struct IndexSample {
  static constexpr int kRun = 1 << 18;  ///< indices; the first quarter only marks sectors
  static constexpr int kLoads = 16;     ///< of a thread, in flight
  static constexpr int kGroup = 4;      ///< of these, tested together
  static constexpr unsigned kFactor = 0x85ebca6b;  // of MurmurHash3 (A. Appleby, 2011)
  static constexpr unsigned kOffset = 0x9e3779b9;  // sector 0 is often hot
  static constexpr int kSampledSectors = 512;
  static constexpr unsigned kSampledHashes = ~0U / kSampledSectors + 1;  ///< from 0 on
  static constexpr int kSeenBits = 1 << 16;
  static constexpr int kTested = kRun / 2 / kGroup;  ///< for near ones, in the second half

  static_assert(kRun / 2 % (kLoads * kPartitionCluster * kPartitionThreads) == 0);

  unsigned seen[kSeenBits / 32];  ///< the first block's, of the whole cluster

  // Of the second quarter of the run, and of its second half:
  unsigned sampled[2];  ///< items of sampled sectors
  unsigned fresh[2];  ///< of these, whose sector was not seen before, one in a granule of 64 bytes

  unsigned far;   ///< of these, in both, more than 1 KiB from the item before
  unsigned near;  ///< tested items that are near; not in the others

  /// The fresh ones as a share of all items: those of the sampled ones, where these are about as
  /// many as expected; else, as where few sectors have most items, of that number.
  [[nodiscard]] __device__ float fresh_share(int part, float near_share) const {
    const float expected = (1 - near_share) * (kRun / (part == 0 ? 4 : 2)) / kSampledSectors;
    const auto found = static_cast<float>(sampled[part]);
    const bool usual = fabsf(found - expected) < 0.2F * expected;
    const float of = max(usual ? found : expected, 1.0F);
    return (1 - near_share) * min(static_cast<float>(fresh[part]) / of, 1.0F);
  }
};

/// A run of the indices for each of kPartitionRuns clusters, which may be single blocks, see
/// PartitionState.
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
  if (threadIdx.x < 2) sample.sampled[threadIdx.x] = sample.fresh[threadIdx.x] = 0;
  if (threadIdx.x == 0) sample.far = sample.near = 0;
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
  if (count < Sample::kRun) {  // only if forced
    if (leads && threadIdx.x == 0) call.state->shares[run] = {.near = 1};
    return;
  }
  Sample& shared = *cluster.map_shared_rank(&sample, 0);
  const unsigned lane = threadIdx.x % 32;
  const auto* const from = reinterpret_cast<const Raw*>(call.index) +
                           (count - Sample::kRun) / (32 * (kPartitionRuns - 1)) * 32 * run +
                           cluster.block_rank() * kPartitionThreads + threadIdx.x;
  constexpr unsigned kNoSector = ~0U;  // of the fill value
  const auto is_near = [lane](unsigned sector) {
    const unsigned other = __shfl_sync(~0U, sector, near_lane(lane, 1));
    return sector != kNoSector && max(sector, other) - min(sector, other) <= kNearSectors;
  };
  unsigned sampled = 0;  // of the second half, plus those of the second quarter times kEarly
  unsigned fresh = 0;
  constexpr unsigned kEarly = 1 << 16;
  unsigned far = 0;
  unsigned near = 0;
#pragma unroll 1
  for (int begin = 0; begin < Sample::kRun; begin += Sample::kLoads * threads) {
    const bool late = begin >= Sample::kRun / 2;
    Raw raw[Sample::kLoads];
#pragma unroll
    for (int k = 0; k < Sample::kLoads; ++k) raw[k] = from[begin + k * threads];
    if (begin == Sample::kRun / 2) cluster.sync();
#pragma unroll
    for (int group = 0; group < Sample::kLoads; group += Sample::kGroup) {
      unsigned sector[Sample::kGroup];
      unsigned least = ~0U;
#pragma unroll
      for (int k = 0; k < Sample::kGroup; ++k) {
        const Raw each = raw[group + k];
        const std::int64_t position = each <= bounds.last ? each : uncommon_position(bounds, each);
        sector[k] = static_cast<unsigned>(position >> call.sector_shift);
        least = min(least, sector[k] * Sample::kFactor + Sample::kOffset);
        if (k == 0 && late) near += is_near(sector[k]);
      }
      if (!__any_sync(~0U, least < Sample::kSampledHashes)) continue;
      const bool early = !late && begin + group * threads >= Sample::kRun / 4;
#pragma unroll
      for (int k = 0; k < Sample::kGroup; ++k) {
        const unsigned hash = sector[k] * Sample::kFactor + Sample::kOffset;
        const unsigned before = __shfl_up_sync(~0U, sector[k], 1);
        const bool left_out = is_near(sector[k]);
        if (hash >= Sample::kSampledHashes) continue;
        const unsigned one = early ? kEarly : 1;
        const bool counted = (early || late) && !left_out;
        sampled += counted ? one : 0;
        if (lane > 0 && sector[k] == before) continue;
        const unsigned bit = hash / (Sample::kSampledHashes / Sample::kSeenBits);
        unsigned* const word = shared.seen + bit / 32;
        const unsigned mask = 1U << (bit % 32);
        // Most are seen already where many items are equal, which would queue for the word.
        if ((*static_cast<volatile unsigned*>(word) & mask) != 0) continue;
        const bool is_fresh = (atomicOr(word, mask) & mask) == 0;
        if (!counted || !is_fresh || (lane > 0 && sector[k] / 2 == before / 2)) continue;
        fresh += one;
        far += lane > 0 && max(sector[k], before) - min(sector[k], before) > 32;
      }
    }
  }
  sampled = __reduce_add_sync(~0U, sampled);
  fresh = __reduce_add_sync(~0U, fresh);
  far = __reduce_add_sync(~0U, far);
  near = __reduce_add_sync(~0U, near);
  if (lane == 0) {
    atomicAdd(&shared.sampled[0], sampled / kEarly);
    atomicAdd(&shared.sampled[1], sampled % kEarly);
    atomicAdd(&shared.fresh[0], fresh / kEarly);
    atomicAdd(&shared.fresh[1], fresh % kEarly);
    atomicAdd(&shared.far, far);
    atomicAdd(&shared.near, near);
  }
  cluster.sync();
  if (!leads || threadIdx.x > 0) return;
  const float near_share = static_cast<float>(sample.near) / Sample::kTested;
  const float early = sample.fresh_share(0, near_share);
  const float late = sample.fresh_share(1, near_share);
  const float far_share = static_cast<float>(sample.far) /
                          static_cast<float>(max(sample.fresh[0] + sample.fresh[1], 1U));
  call.state->shares[run] = {near_share, early, late, late * far_share};
#endif
}

}  // namespace gpukern::gpu

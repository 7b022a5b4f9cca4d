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
  static constexpr int kRun = 1 << 18;             ///< indices; the first half only marks sectors
  static constexpr int kLoads = 16;                ///< of a thread, in flight
  static constexpr int kGroup = 4;                 ///< of these, tested together
  static constexpr unsigned kFactor = 0x85ebca6b;  // of MurmurHash3 (A. Appleby, 2011)
  static constexpr unsigned kOffset = 0x9e3779b9;  // sector 0 is often hot
  static constexpr int kSampledSectors = 512;
  static constexpr unsigned kSampledHashes = ~0U / kSampledSectors + 1;  ///< from 0 on
  static constexpr int kSeenBits = 1 << 16;
  static constexpr int kBins = kPartitionBins;
  static constexpr int kTested = kRun / 2 / kGroup;  ///< for near ones: the first of each group
  static constexpr int kApart = 8;                   ///< of these, every eighth has a bin

  static_assert(kRun / 2 % (kLoads * kPartitionCluster * kPartitionThreads) == 0);

  unsigned seen[kSeenBits / 32];  ///< the first block's, of the whole cluster
  unsigned bins[kBins];           ///< items of equal parts of the source
  unsigned sampled;  ///< items of sampled sectors; of neighbours in a granule of 64 bytes, one
  unsigned fresh;    ///< of these, of sectors not seen before
  unsigned far;      ///< of these, more than 1 KiB from the item before
  unsigned heavy;    ///< items in bins with more than a 16th of the block's
  unsigned near;     ///< tested items that are near; not in the others

  /// The share of items whose sector was not seen before: of those that were sampled, where they
  /// are about as many as expected; else, as where few sectors have most items, of that number.
  [[nodiscard]] __device__ float missed(float items) const {
    const float expected = items / kSampledSectors;
    const auto found = static_cast<float>(sampled);
    const bool usual = fabsf(found - expected) < 0.2F * expected;
    return min(static_cast<float>(fresh) / max(usual ? found : expected, 1.0F), 1.0F);
  }
};

/// A run of the indices for each of kPartitionRuns clusters, which may be single blocks, see
/// PartitionState. A forced partition is sampled for what is near, and never cancelled.
template <class Raw>
__global__ void __launch_bounds__(kPartitionThreads)
    partition_sample_kernel(const __grid_constant__ Partition call,
                            const __grid_constant__ Bounds<Raw> bounds, std::int64_t count,
                            const __grid_constant__ SampleModel model, bool forced) {
#if __CUDA_ARCH__ >= 900
  using Sample = IndexSample;
  __shared__ Sample sample;
  const auto cluster = cooperative_groups::this_cluster();
  for (unsigned w = threadIdx.x; w < Sample::kSeenBits / 32; w += kPartitionThreads)
    sample.seen[w] = 0;
  for (unsigned b = threadIdx.x; b < Sample::kBins; b += kPartitionThreads) sample.bins[b] = 0;
  if (threadIdx.x == 0) sample.sampled = sample.fresh = sample.far = sample.heavy = sample.near = 0;
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
    if (leads && threadIdx.x == 0) call.state->gain[run] = call.state->near_share[run] = 1;
    return;
  }
  Sample& shared = *cluster.map_shared_rank(&sample, 0);
  const unsigned lane = threadIdx.x % 32;
  const auto* const from = reinterpret_cast<const Raw*>(call.index) +
                           (count - Sample::kRun) / (32 * (kPartitionRuns - 1)) * 32 * run +
                           cluster.block_rank() * kPartitionThreads + threadIdx.x;
  constexpr unsigned kNoSector = ~0U;  // of the fill value
  const auto is_near = [](unsigned sector) {
    const unsigned other = __shfl_xor_sync(~0U, sector, kNearIndices);
    return sector != kNoSector && max(sector, other) - min(sector, other) <= kNearSectors;
  };
  unsigned sampled = 0;
  unsigned fresh = 0;
  unsigned far = 0;
  unsigned near = 0;
#pragma unroll 1
  for (int begin = 0; begin < Sample::kRun; begin += Sample::kLoads * threads) {
    const bool counts = begin >= Sample::kRun / 2;
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
        if (k > 0 || !counts) continue;
        const bool left_out = is_near(sector[k]);
        near += left_out;
        const bool has_bin = (lane + group + threadIdx.x / 32) % Sample::kApart == 0;
        if (has_bin && !left_out && position >= 0)
          atomicAdd(sample.bins + (position >> model.bin_shift), 1);
      }
      if (!__any_sync(~0U, least < Sample::kSampledHashes)) continue;
#pragma unroll
      for (int k = 0; k < Sample::kGroup; ++k) {
        const unsigned hash = sector[k] * Sample::kFactor + Sample::kOffset;
        const unsigned before = __shfl_up_sync(~0U, sector[k], 1);
        const bool left_out = is_near(sector[k]);
        if (hash >= Sample::kSampledHashes || (lane > 0 && sector[k] == before)) continue;
        const bool counted = counts && !left_out && !(lane > 0 && sector[k] / 2 == before / 2);
        sampled += counted;
        const unsigned bit = hash / (Sample::kSampledHashes / Sample::kSeenBits);
        unsigned* const word = shared.seen + bit / 32;
        const unsigned mask = 1U << (bit % 32);
        // Most are seen already where many items are equal, which would queue for the word.
        if ((*static_cast<volatile unsigned*>(word) & mask) != 0) continue;
        const bool is_fresh = (atomicOr(word, mask) & mask) == 0;
        if (!counted || !is_fresh) continue;
        ++fresh;
        far += lane > 0 && max(sector[k], before) - min(sector[k], before) > 32;
      }
    }
  }
  __syncthreads();
  unsigned heavy = 0;
  for (unsigned b = threadIdx.x; b < Sample::kBins; b += kPartitionThreads)
    heavy += sample.bins[b] > Sample::kTested / Sample::kApart / blocks / 16 ? sample.bins[b] : 0;
  sampled = __reduce_add_sync(~0U, sampled);
  fresh = __reduce_add_sync(~0U, fresh);
  far = __reduce_add_sync(~0U, far);
  heavy = __reduce_add_sync(~0U, heavy);
  near = __reduce_add_sync(~0U, near);
  if (lane == 0) {
    atomicAdd(&shared.sampled, sampled);
    atomicAdd(&shared.fresh, fresh);
    atomicAdd(&shared.far, far);
    atomicAdd(&shared.heavy, heavy);
    atomicAdd(&shared.near, near);
  }
  cluster.sync();
  if (!leads || threadIdx.x > 0) return;
  const float near_share = static_cast<float>(sample.near) / Sample::kTested;
  const float missed = sample.missed((1 - near_share) * (Sample::kRun / 2));
  const float far_share =
      static_cast<float>(sample.far) / static_cast<float>(max(sample.fresh, 1U));
  const float heavy_share = static_cast<float>(sample.heavy * Sample::kApart) / Sample::kTested;
  call.state->gain[run] = forced ? 1 : model.gain(near_share, missed, far_share, heavy_share);
  call.state->near_share[run] = near_share;
#endif
}

}  // namespace gpukern::gpu

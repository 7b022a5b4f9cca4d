// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Before the passes: a sample of the indices.
#pragma once

#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/gather/partition/partition.cuh"
#include "cuda/gather/partition/position.cuh"

namespace gpukern::gpu {

/// What a direct gather of a run of neighbouring indices would read from memory. Which granules a
/// run has read before is known of one in SampleCounts::kGranules, chosen by a hash of their
/// numbers, so that reuse counts at any distance within the run (C. Waldspurger, N. Park, A.
/// Garthwaite, I. Ahmad: Efficient MRC construction with SHARDS, 2015). The blocks of a first
/// kernel list the sampled granules of a part each, a second one counts those of each run.
struct IndexSample {
  static constexpr int kLoads = 16;                ///< of a thread, in flight
  static constexpr int kGroup = 4;                 ///< of these, tested together
  static constexpr unsigned kFactor = 0x85ebca6b;  // of MurmurHash3 (A. Appleby, 2011)
  static constexpr unsigned kOffset = 0x9e3779b9;  // granule 0 is often hot
  static constexpr unsigned kSampledHashes = ~0U / SampleCounts::kGranules + 1;  ///< from 0 on

  /// An entry of a list is a hash and these.
  static constexpr unsigned kCounted = 1U << 31;  ///< fresh, if no entry before has the granule
  static constexpr unsigned kFar = 1U << 30;
  static_assert(kSampledHashes <= kFar);

  /// Of the number of a sector's granule.
  static constexpr __host__ __device__ unsigned hash(unsigned sector) {
    return sector / 2 * kFactor + kOffset;
  }

  static constexpr int kPart = SampleCounts::kRun / kSampleBlocks;
  static_assert(kPart % (kLoads * kSampleThreads) == 0);
  static_assert(SampleCounts::kTested == SampleCounts::kRun / kGroup, "the first of each group");
  static_assert(kSampleBlocks % 2 == 0 && kSampleBlocks <= 32, "a warp a list");
};

/// A set of sampled granules, in shared memory.
class SampledGranules {
 public:
  /// The caller synchronizes.
  __device__ void clear() {
    for (unsigned w = threadIdx.x; w < kBits / 32; w += blockDim.x) seen_[w] = 0;
  }

  /// Whether it was not there.
  __device__ bool add(unsigned hash) {
    const unsigned bit = hash / (IndexSample::kSampledHashes / kBits);
    unsigned* const word = seen_ + bit / 32;
    const unsigned mask = 1U << (bit % 32);
    // Most are there already where many items are equal: no atomic operations on one word.
    if ((*static_cast<volatile unsigned*>(word) & mask) != 0) return false;
    return (atomicOr(word, mask) & mask) == 0;
  }

 private:
  static constexpr int kBits = 1 << 16;
  static_assert(IndexSample::kSampledHashes % kBits == 0);
  unsigned seen_[kBits / 32];
};

/// Lists the sampled granules of a part of a run.
template <class Raw>
__global__ void __launch_bounds__(kSampleThreads)
    partition_sample_kernel(const __grid_constant__ Partition call,
                            const __grid_constant__ Bounds<Raw> bounds, std::int64_t count) {
#if __CUDA_ARCH__ >= 900
  using Sample = IndexSample;
  __shared__ SampledGranules seen;
  __shared__ SampleList::Header own;
  seen.clear();
  if (threadIdx.x == 0) own = {};
  __syncthreads();
  wait_for_previous();
  __threadfence();  // see partition_direct_kernel
  launch_next();
  for (unsigned b = blockIdx.x * kSampleThreads + threadIdx.x; b < call.buckets;
       b += gridDim.x * kSampleThreads)
    call.heavy_of[b] = 0;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    call.state->extra_parts = call.state->taken = call.state->direct = 0;
  if (count < SampleCounts::kRun) return;
  SampleList& list = call.samples[blockIdx.x];
  const unsigned lane = threadIdx.x % 32;
  const auto* const from = reinterpret_cast<const Raw*>(call.index) +
                           (count - SampleCounts::kRun) / (32 * (SampleCounts::kRuns - 1)) * 32 *
                               (blockIdx.x / kSampleBlocks) +
                           blockIdx.x % kSampleBlocks * Sample::kPart + threadIdx.x;
  constexpr unsigned kNoSector = ~0U;  // of the fill value, whose hash is not sampled
  static_assert(Sample::hash(kNoSector) >= Sample::kSampledHashes);
  const auto is_near_another = [lane](unsigned sector) {
    const unsigned other = __shfl_sync(~0U, sector, near_lane(lane, 1));
    return sector != kNoSector && are_near(sector, other);
  };
  unsigned near = 0;
#pragma unroll 1
  for (int begin = 0; begin < Sample::kPart; begin += Sample::kLoads * kSampleThreads) {
    Raw raw[Sample::kLoads];
#pragma unroll
    for (int k = 0; k < Sample::kLoads; ++k) raw[k] = from[begin + k * kSampleThreads];
#pragma unroll
    for (int group = 0; group < Sample::kLoads; group += Sample::kGroup) {
      unsigned sector[Sample::kGroup];
      unsigned least = ~0U;
#pragma unroll
      for (int k = 0; k < Sample::kGroup; ++k) {
        const std::int64_t position = position_of(bounds, raw[group + k]);
        sector[k] = static_cast<unsigned>(position >> call.sector_shift);
        least = min(least, Sample::hash(sector[k]));
        if (k == 0) near += is_near_another(sector[k]);
      }
      if (!__any_sync(~0U, least < Sample::kSampledHashes)) continue;
#pragma unroll
      for (int k = 0; k < Sample::kGroup; ++k) {
        const unsigned hash = Sample::hash(sector[k]);
        const unsigned before = __shfl_up_sync(~0U, sector[k], 1);
        const bool left_out = is_near_another(sector[k]);
        if (hash >= Sample::kSampledHashes) continue;
        if (lane > 0 && sector[k] / 2 == before / 2) continue;
        if (!seen.add(hash)) continue;
        constexpr unsigned kFarSectors = 32;  // 1 KiB
        const bool far = lane > 0 && max(sector[k], before) - min(sector[k], before) > kFarSectors;
        const unsigned at = atomicAdd(&own.found, 1);
        if (at < SampleList::kMax)
          list.entry[at] = hash | (left_out ? 0 : Sample::kCounted) | (far ? Sample::kFar : 0);
      }
    }
  }
  near = __reduce_add_sync(~0U, near);
  if (lane == 0) atomicAdd(&own.near, near);
  __syncthreads();
  if (threadIdx.x == 0) list.header = own;
#endif
}

/// Counts what the lists of a run have: a block each, a warp a list.
static __global__ void __launch_bounds__(32 * kSampleBlocks)
    partition_sample_count_kernel(const __grid_constant__ Partition call, std::int64_t count) {
#if __CUDA_ARCH__ >= 900
  using Sample = IndexSample;
  __shared__ SampledGranules seen;
  __shared__ SampleCounts counts;
  // Before the wait: partition_sample_kernel has waited for all earlier work before it let this
  // kernel start.
  __threadfence();  // see partition_direct_kernel
  launch_next();
  seen.clear();
  if (threadIdx.x == 0) counts = {};
  wait_for_previous();
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned half = warp / (kSampleBlocks / 2);
  if (count < SampleCounts::kRun) {  // only if the partition is forced
    if (threadIdx.x == 0) call.state->counts[blockIdx.x] = {.near = SampleCounts::kTested};
    return;
  }
  const SampleList& list = call.samples[blockIdx.x * kSampleBlocks + warp];
  const SampleList::Header header = list.header;
  const unsigned entries = min(header.found, SampleList::kMax);
  unsigned fresh = 0;
  unsigned far = 0;
  for (unsigned h = 0; h < 2; ++h) {
    for (unsigned e = lane; half == h && e < entries; e += 32) {
      const unsigned entry = list.entry[e];
      if (!seen.add(entry % Sample::kFar) || (entry & Sample::kCounted) == 0) continue;
      ++fresh;
      far += (entry & Sample::kFar) != 0;
    }
    __syncthreads();
  }
  fresh = __reduce_add_sync(~0U, fresh);
  far = __reduce_add_sync(~0U, far);
  if (lane == 0) {
    atomicAdd(&counts.near, header.near);
    if (header.found > 0) {
      atomicAdd(&counts.fresh[half], fresh * header.found / entries);
      atomicAdd(&counts.far, far * header.found / entries);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) call.state->counts[blockIdx.x] = counts;
#endif
}

}  // namespace gpukern::gpu

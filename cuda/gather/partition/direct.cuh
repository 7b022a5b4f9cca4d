// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// After the sample: the direct gather of the items that the passes do not gather.
#pragma once

#include "cuda/gather/items.cuh"
#include "cuda/gather/partition/partition.cuh"

namespace gpukern::gpu {

inline constexpr int kDirectThreads = 256;
inline constexpr int kDirectBlocks = 6;  ///< on a multiprocessor, at 40 registers a thread

/// A block most of whose index vectors span at most this number of bytes of the source gathers its
/// first work tile without waiting for the sample. Measured:
/// benchmarks/notes/gather.md#direct-or-partitioned.
inline constexpr int kNearVectorBytes = 1024;

/// Whether direct access is fast. Not inlined, for fewer registers; the first block tells the
/// passes.
__device__ __noinline__ inline bool decide(const SampleModel& model, PartitionState& state) {
  SampleCounts sum{};
  for (const SampleCounts& each : state.counts) sum += each;
  const SampleShares shares(sum);
  const bool local = model.gain(shares) <= 0;
  if (blockIdx.x == 0) {
    constexpr float kLeast = 0.1F;  // of near items, from which leaving them out pays
    state.local = local;
    state.mixed = shares.near > kLeast;
  }
  return local;
}

/// Gathers all items if the sample decides so, otherwise the items after the last whole tile. The
/// blocks are persistent, so that idle blocks cost little.
template <class Item, class Raw>
__global__ void __launch_bounds__(kDirectThreads, resident_blocks(kDirectBlocks, kDirectThreads))
    partition_direct_kernel(const __grid_constant__ ItemArgs args,
                            const __grid_constant__ Bounds<Raw> bounds,
                            const __grid_constant__ Fill fill,
                            const __grid_constant__ SampleModel model, unsigned tiles,
                            PartitionState* state) {
  constexpr int kCount = kVectorItems<Item>;
  constexpr int kWorkTile = kDirectThreads * kItemVectors * kCount;
  constexpr int kInTile = kTile<sizeof(Item)> / kWorkTile;
  static_assert(kInTile * kWorkTile == kTile<sizeof(Item)>);
  // These loads need not wait for the sample: its first kernel has waited for all earlier work of
  // the stream before it let the second one start, and that lets this one start at once. The fences
  // here and there make that work visible.
  __threadfence();
  ItemVectors<Item, Raw, kCount, kItemVectors> own(args, blockIdx.x, CachePolicy(true));
  const int near = __syncthreads_count(own.ends_within(kNearVectorBytes / sizeof(Item)));
  const bool first_done = near > kDirectThreads / 2;
  if (first_done) own.gather(bounds, fill);  // if the passes run after all, they do so again
  wait_for_previous();
  __shared__ bool is_local;
  if (threadIdx.x == 0) is_local = decide(model, *state);
  __syncthreads();
  const bool local = is_local;
  const unsigned first = local ? 0 : tiles * kInTile;
  // If neighbouring indices are close together, most of the source is not read again later.
  gather_persistent<Item, Raw, kItemVectors, kDirectThreads>(
      args, bounds, fill, CachePolicy(!first_done), first, local && first_done, &state->direct);
}

}  // namespace gpukern::gpu

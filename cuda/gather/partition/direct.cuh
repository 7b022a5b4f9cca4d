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
  // These loads need not wait for the sample: it has waited for all earlier work of the stream
  // before it let this kernel start. The fences here and there make that work visible.
  __threadfence();
  ItemVectors<Item, Raw, kCount, kItemVectors> own(args, blockIdx.x, CachePolicy(true));
  const int near = __syncthreads_count(own.ends_within(kNearVectorBytes / sizeof(Item)));
  const bool first_done = near > kDirectThreads / 2;
  if (first_done) own.gather(bounds, fill);  // if the passes run after all, they do so again
  wait_for_previous();
  launch_next();
  const bool local = state->local(model);
  const unsigned first = local ? 0 : tiles * kInTile;
  // If neighbouring indices are close together, most of the source is not read again later.
  gather_persistent<Item, Raw, kItemVectors, kDirectThreads>(
      args, bounds, fill, CachePolicy(!first_done), first, local && first_done, &state->direct);
}

}  // namespace gpukern::gpu

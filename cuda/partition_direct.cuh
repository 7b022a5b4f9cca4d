// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Behind the sample: the direct gather of what the passes leave alone.
#pragma once

#include "gather_items.cuh"
#include "partition.cuh"

namespace gpukern::gpu {

inline constexpr int kDirectThreads = 256;
inline constexpr int kDirectBlocks = 6;  ///< on a multiprocessor, at 40 registers a thread

/// Neighbouring indices that rise by no more than so many bytes of the source are gathered before
/// the sample has told anything: that costs no more than to wait.
inline constexpr int kNearBytes = 1024;

/// Gathers all items if the sample says so, else those behind the last whole tile. There are only
/// as many blocks as run at a time, so that idle ones cost little. The sample has waited for what
/// was before it on the stream, and only then let these blocks come.
template <class Item, class Raw>
__global__ void __launch_bounds__(kDirectThreads, resident_blocks(kDirectBlocks, kDirectThreads))
    partition_direct_kernel(const __grid_constant__ ItemArgs args,
                            const __grid_constant__ Bounds<Raw> bounds,
                            const __grid_constant__ Fill fill, unsigned tiles,
                            PartitionState* state) {
  constexpr int kCount = kVectorItems<Item>;
  constexpr int kPiece = kDirectThreads * kItemVectors * kCount;
  constexpr int kInTile = kTile<sizeof(Item)> / kPiece;
  static_assert(kInTile * kPiece == kTile<sizeof(Item)>);
  ItemVectors<Item, Raw, kCount, kItemVectors> own(args, blockIdx.x);
  const int near = __syncthreads_count(own.rises_within(kNearBytes / sizeof(Item)));
  const auto sampled_as_local = [state] {
    wait_for_previous();
    return state->local();
  };
  // Where the passes work after all, they write the same items once more.
  if (near > kDirectThreads / 2 || sampled_as_local()) own.gather(bounds, fill);
  const bool local = sampled_as_local();
  let_next_start();
  const std::int64_t first = local ? gridDim.x : std::int64_t{tiles} * kInTile;
  gather_pieces<Item, Raw, kItemVectors, kDirectThreads>(args, bounds, fill, first, &state->direct);
}

}  // namespace gpukern::gpu

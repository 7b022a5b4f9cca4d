// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Behind the sample: the direct gather of what the passes leave alone.
#pragma once

#include "cuda/gather/items.cuh"
#include "cuda/gather/partition/partition.cuh"

namespace gpukern::gpu {

inline constexpr int kDirectThreads = 256;
inline constexpr int kDirectBlocks = 6;  ///< on a multiprocessor, at 40 registers a thread

/// A block whose indices, four neighbours or two, mostly end so few bytes of the source behind
/// where they begin gathers its first piece before the sample has told anything: it hardly takes
/// longer than to wait.
inline constexpr int kNearBytes = 1024;

/// Gathers all items if the sample says so, else those behind the last whole tile. There are only
/// as many blocks as run at a time, so that idle ones cost little.
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
  // Before the wait for the sample, which has waited for all before it on the stream, and then let
  // these blocks come. The fences, here and there, make visible what that has written.
  __threadfence();
  ItemVectors<Item, Raw, kCount, kItemVectors> own(args, blockIdx.x, StreamPolicy(true));
  const int near = __syncthreads_count(own.ends_within(kNearBytes / sizeof(Item)));
  const bool begun = near > kDirectThreads / 2;
  if (begun) own.gather(bounds, fill);  // where the passes work after all, they do it once more
  wait_for_previous();
  let_next_start();
  const bool local = state->local();
  const unsigned first = local ? 0 : tiles * kInTile;
  // By the first piece: where neighbours are near, the source is hardly read again later.
  gather_pieces<Item, Raw, kItemVectors, kDirectThreads>(args, bounds, fill, StreamPolicy(!begun),
                                                         first, local && begun, &state->direct);
}

}  // namespace gpukern::gpu

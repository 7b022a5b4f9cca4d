// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Behind the sample: the direct gather of what the passes leave alone.
#pragma once

#include "gather_items.cuh"
#include "partition.cuh"

namespace gpukern::gpu {

inline constexpr int kDirectThreads = 256;
inline constexpr int kDirectBlocks = 6;  ///< on a multiprocessor, at 40 registers a thread

/// Gathers all items if the sample says so, else those behind the last whole tile. There are only
/// as many blocks as run at a time, so that idle ones cost little.
template <class Item, class Raw>
__global__ void __launch_bounds__(kDirectThreads, resident_blocks(kDirectBlocks, kDirectThreads))
    partition_direct_kernel(const __grid_constant__ ItemArgs args,
                            const __grid_constant__ Bounds<Raw> bounds,
                            const __grid_constant__ Fill fill, unsigned tiles,
                            PartitionState* state) {
  constexpr int kPiece = kDirectThreads * kItemVectors * kVectorItems<Item>;
  constexpr int kInTile = kTile<sizeof(Item)> / kPiece;
  static_assert(kInTile * kPiece == kTile<sizeof(Item)>);
  wait_for_previous();
  let_next_start();
  const std::int64_t first = state->local() ? 0 : std::int64_t{tiles} * kInTile;
  gather_pieces<Item, Raw, kItemVectors, kDirectThreads>(args, bounds, fill, first, &state->direct);
}

}  // namespace gpukern::gpu

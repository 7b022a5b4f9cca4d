// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Too many updates for a hash table, too few to fill the GPU during each pass of a radix sort:
//   sort_tiles   spreads the keys, and sorts the updates of each tile by slice of them,
//   combine      finds those of a slice in all tiles, sorts them by key and combines their values,
//   finish       does so for long slices, whose updates it first moves together, as in slices.cuh.
// Tiles keep the order of the updates, and both sorts are stable.
#pragma once

#include "cuda/scatter/places.cuh"
#include "cuda/scatter/slice_bits.hpp"

namespace gpukern::gpu {

inline constexpr int kMostTiles = 1 << 9;
/// What `Slices::number` holds after the lists, for the stages of the last kernel.
inline constexpr int kStageNumbers = 6;

/// The updates, tile after tile.
struct Tiles {
  int number;
  int updates;  ///< of each
  std::uint32_t slices;
  std::uint16_t* keys;  ///< in their slices
  std::byte* payload;
  std::uint16_t* starts;  ///< of each slice in each tile, and the end of the last one
  KeySpread spread;

  [[nodiscard]] __device__ std::uint16_t* starts_in(int tile) const {
    return starts + std::size_t{slices + 1} * tile;
  }
};

/// Where the updates of a slice are in each tile.
struct Segments {
  std::uint32_t first[kMostTiles];  ///< among the updates of the slice
  std::uint16_t begin[kMostTiles];  ///< in the tile
  std::uint32_t updates;            ///< of a tile
  TileScan::TempStorage scan;

  /// Returns the number of updates. All threads call this.
  __device__ std::uint32_t load(const Tiles& tiles, std::uint32_t slice) {
    constexpr int kTilesEach = kMostTiles / kTileThreads;
    std::uint32_t number[kTilesEach];
#pragma unroll
    for (int e = 0; e < kTilesEach; ++e) {
      const int tile = static_cast<int>(threadIdx.x) * kTilesEach + e;
      const bool inside = tile < tiles.number;
      const std::uint16_t* const starts = tiles.starts_in(inside ? tile : 0) + slice;
      begin[tile] = starts[0];
      number[e] = inside ? starts[1] - starts[0] : 0;
    }
    std::uint32_t all;
    TileScan(scan).ExclusiveSum(number, number, all);
    if (threadIdx.x == 0) updates = static_cast<std::uint32_t>(tiles.updates);
#pragma unroll
    for (int e = 0; e < kTilesEach; ++e) first[threadIdx.x * kTilesEach + e] = number[e];
    __syncthreads();
    return all;
  }

  /// The position of an update of the slice in `Tiles`.
  [[nodiscard]] __device__ std::uint32_t position(std::uint32_t update) const {
    std::uint32_t tile = 0;
#pragma unroll
    for (int step = kMostTiles / 2; step > 0; step /= 2)
      if (first[tile + step] <= update) tile += step;
    return tile * updates + begin[tile] + (update - first[tile]);
  }
};

/// Elements by spread key.
struct SpreadElements {
  TargetElements elements;
  KeySpread spread;

  [[nodiscard]] __device__ std::byte* at(std::uint32_t key) const {
    return elements.at(spread.key(key));
  }
};

/// Combines the values of all slices but the long ones, which it lists.
void scatter_combine_tiles(const ScatterCall& call, const Tiles& tiles, const Slices& slices);

/// The updates of long slices.
struct LongUpdates {
  std::uint32_t* keys;
  std::byte* payload;
  std::uint32_t* sorted_keys;
  std::byte* sorted_payload;
};
/// Combines the values of the long slices.
void scatter_finish_tiles(const ScatterCall& call, const Tiles& tiles, const Slices& slices,
                          const LongUpdates& updates, const LongKeys& long_keys);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Too many updates for a hash table, too few to fill the GPU during each pass of a radix sort:
//   sort_tiles   spreads the keys, and sorts the updates of each tile by slice of them,
//   combine      finds those of a slice in all tiles, sorts them by key and combines their values,
//   finish       does so for long slices, whose updates it first moves together, as in slices.cuh.
// Rows are combined by other kernels, once the numbers of their updates are sorted:
//   place        has the part of combine without the values, and
//   finish_sort  that of finish.
// Tiles keep the order of the updates, and both sorts are stable.
#pragma once

#include "cuda/scatter/places.cuh"

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
      begin[tile] = inside ? starts[0] : 0;
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

  /// Returns the number of updates of all slices before one. All threads call this.
  [[nodiscard]] __device__ std::uint32_t before(const Tiles& tiles, std::uint32_t slice) {
    std::uint32_t own = 0;
    for (int tile = static_cast<int>(threadIdx.x); tile < tiles.number; tile += kTileThreads)
      own += tiles.starts_in(tile)[slice];
    std::uint32_t rank;
    std::uint32_t all;
    TileScan(scan).ExclusiveSum(own, rank, all);
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

/// Sorts the updates of a slice by key, and calls place(position, key, payload) for each, which may
/// write over the segments. All threads of a block call this, and synchronize after it.
template <class Payload, class Place>
__device__ void sort_slice(const Tiles& tiles, const Segments& segments, int number,
                           const Places<kTileThreads>& places, TileScan::TempStorage& scan,
                           const Place& place) {
  places.clear();
  // All warps have the same number of rounds.
  const int rounds = (number + kTileThreads - 1) / kTileThreads;
  const auto thread = static_cast<int>(threadIdx.x);
  const int first = thread / 32 * rounds * 32 + thread % 32;
  const auto exists = [&](int k) { return k < rounds && first + k * 32 < number; };
  std::uint16_t key[kTileEach];
  Payload payload[kTileEach];
#pragma unroll
  for (int from = 0; from < kTileEach; from += kTileTogether) {
    if (from >= rounds) continue;
    std::uint32_t at[kTileTogether];
#pragma unroll
    for (int k = 0; k < kTileTogether; ++k) {
      if (from + k >= rounds) continue;
      at[k] = segments.position(min(first + (from + k) * 32, number - 1));
    }
#pragma unroll
    for (int k = 0; k < kTileTogether; ++k) {
      if (from + k >= rounds) continue;
      key[from + k] = tiles.keys[at[k]];
      payload[from + k] = reinterpret_cast<const Payload*>(tiles.payload)[at[k]];
    }
  }
  __syncthreads();
  std::uint16_t rank[kTileEach];
  places.count(rounds, [&](int k) { return exists(k) ? static_cast<int>(key[k]) : -1; }, rank);
  __syncthreads();
  places.find(scan, [](std::uint32_t, std::uint32_t) {});
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTileEach; ++k)
    if (exists(k)) place(places.place(key[k], rank[k]), key[k], payload[k]);
}

/// Lists the chunks of a long slice whose updates move to `begin`. All threads of a block call
/// this.
__device__ inline void note_long(const Slices& slices, std::uint32_t slice, std::uint32_t begin,
                                 std::uint32_t number) {
  __shared__ unsigned first;
  const auto chunks = static_cast<unsigned>((number + slices.chunk - 1) / slices.chunk);
  if (threadIdx.x == 0) {
    first = slices.take_chunks(chunks);
    slices.starts[slice] = begin;
    slices.ends[slice] = begin + number;
  }
  __syncthreads();
  for (unsigned c = threadIdx.x; c < chunks; c += kTileThreads)
    slices.chunks[first + c] = {slice, c};
}

struct TileScratch {
  Tiles tiles;
  Slices slices;
};
/// The payload of an update is its number or, of 4 or 8 bytes, its value.
TileScratch lay_out_tiles(ScratchLayout& layout, const ScatterCall& call, int payload_bytes);
/// How the keys of a call that fits are spread.
KeySpread tile_spread(const ScatterCall& call);
/// Whether the updates of a call fit.
bool fits_tiles(const ScatterCall& call, int payload_bytes);

enum class TilePayload { Numbers, Values };
/// Clears `long_keys`.
void scatter_sort_tiles(const ScatterCall& call, const TileScratch& scratch, TilePayload payload,
                        unsigned long long* long_keys);
/// Combines the values of all slices but the long ones, which it lists.
void scatter_combine_tiles(const ScatterCall& call, const TileScratch& scratch);

struct MovedUpdates {
  // Those of each long slice, together.
  std::uint32_t* keys;
  std::byte* payload;
  // The same or, of rows, all updates, by key.
  std::uint32_t* sorted_keys;
  std::byte* sorted_payload;
};
/// Sorts all updates by spread key; those that are skipped come last.
void scatter_place_tiles(const ScatterCall& call, const TileScratch& scratch,
                         const MovedUpdates& updates);
/// Combines the values of the long slices.
void scatter_finish_tiles(const ScatterCall& call, const TileScratch& scratch,
                          const MovedUpdates& updates, const LongKeys& long_keys);

}  // namespace gpukern::gpu

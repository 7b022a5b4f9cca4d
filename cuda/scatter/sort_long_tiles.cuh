// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sorts the updates of long slices by key, in stages of one kernel.
#pragma once

#include <algorithm>

#include "cuda/common/load_together.cuh"
#include "cuda/common/stages.cuh"
#include "cuda/scatter/long_slices.cuh"
#include "cuda/scatter/tiles.cuh"

namespace gpukern::gpu {

/// Adds one to the counter of a key. Often most lanes of a warp have the same one. Any division of
/// the warp gives the same counts.
__device__ inline void count_key(std::uint32_t* count, std::uint32_t key) {
  const unsigned active = __activemask();
  const int leader = __ffs(static_cast<int>(active)) - 1;
  const std::uint32_t of_leader = __shfl_sync(active, key, leader);
  const unsigned equal = __ballot_sync(active, key == of_leader);
  if (key != of_leader)
    atomicAdd(count + key, 1);
  else if (static_cast<int>(threadIdx.x % 32) == leader)
    atomicAdd(count + key, __popc(equal));
}

/// Moves a chunk of the updates of a long slice together, and counts its keys. All threads of a
/// block call this.
template <class Payload>
__device__ __noinline__ inline void move_chunk(const Tiles& tiles, const Slices& slices,
                                               std::int64_t number, const MovedUpdates& updates,
                                               std::byte* memory) {
  auto& segments = *reinterpret_cast<Segments*>(memory);
  auto* const count = reinterpret_cast<std::uint32_t*>(memory + sizeof(Segments));
  const auto thread = static_cast<int>(threadIdx.x);
  const int keys = 1 << slices.bits;
  const SliceChunk chunk = slices.chunks[number];
  for (int i = thread; i < keys; i += kTileThreads) count[i] = 0;
  const std::uint32_t all = segments.load(tiles, chunk.slice);  // more than `begin`
  const std::uint32_t begin = chunk.number * kTileUpdates;
  const std::uint32_t to = slices.starts[chunk.slice];
  auto* const payload = reinterpret_cast<Payload*>(updates.payload);
  struct Update {
    std::uint32_t key;
    Payload payload;
  };
  load_together<kTileThreads, kTileTogether>(
      static_cast<int>(min(all - begin, static_cast<std::uint32_t>(kTileUpdates))),
      [&](int i) {
        const std::uint32_t at = segments.position(begin + i);
        return Update{tiles.keys[at], reinterpret_cast<const Payload*>(tiles.payload)[at]};
      },
      [&](int i, const Update& update) {
        updates.keys[to + begin + i] = (chunk.slice << slices.bits) + update.key;
        payload[to + begin + i] = update.payload;
        count_key(count, update.key);
      });
  __syncthreads();
  for (int i = thread; i < keys; i += kTileThreads) slices.counts[number * keys + i] = count[i];
}

template <class Payload>
__device__ __noinline__ inline void sort_chunk(const Slices& slices, std::int64_t number,
                                               const MovedUpdates& updates, std::byte* memory) {
  __shared__ TileScan::TempStorage scan;
  const UpdateArrays<Payload> arrays{
      updates.keys, reinterpret_cast<const Payload*>(updates.payload), updates.sorted_keys,
      reinterpret_cast<Payload*>(updates.sorted_payload)};
  place_chunk(slices, number, arrays, memory, scan);
}

/// The items of a stage whose work is shared among them, at most.
inline constexpr unsigned kMostItems = 1 << 10;

/// The first stages: updates are moved together, their counts added, and the updates sorted.
template <class Payload>
struct LongTiles {
  static_assert(kTileThreads == kThreads);
  enum Stage { kMove, kSum, kSort, kStages };

  const Tiles& tiles;
  const Slices& slices;
  const MovedUpdates& updates;
  unsigned chunks;
  std::int64_t sums;

  __device__ LongTiles(const Tiles& of_tiles, const Slices& of_slices, const MovedUpdates& to)
      : tiles(of_tiles),
        slices(of_slices),
        updates(to),
        chunks(slices.number[Slices::kChunks]),
        sums(slices.number[Slices::kHeads] * ChunkSums::groups(slices)) {}
  [[nodiscard]] __device__ unsigned sum_items() const {
    return static_cast<unsigned>(min(sums, std::int64_t{kMostItems}));
  }

  /// Does the work of an item. All threads of a block call this.
  __device__ void visit(int stage, unsigned item, std::byte* memory) const {
    if (stage == kMove) {
      move_chunk<Payload>(tiles, slices, item, updates, memory);
    } else if (stage == kSum) {
      for (std::int64_t work = item; work < sums; work += sum_items())
        reinterpret_cast<ChunkSums*>(memory)->add(slices, work);
    } else {
      sort_chunk<Payload>(slices, item, updates, memory);
    }
  }
  /// The shared memory of visit().
  static std::size_t shared_bytes(int bits) {
    return std::max({sizeof(Segments) + (sizeof(std::uint32_t) << bits), sizeof(ChunkSums),
                     Tile<Payload>::bytes(bits)});
  }
};

/// The thread blocks of a kernel with such stages.
inline std::int64_t long_tile_blocks(const ScatterCall& call) {
  return std::min(resident_grid() / 2, 4 * ceil_divide(call.count, kTileUpdates));
}

}  // namespace gpukern::gpu

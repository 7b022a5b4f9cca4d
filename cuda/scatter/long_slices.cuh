// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sorts the updates of long slices by key: a counting sort with a counter for each key of a slice.
// It is stable: chunks keep their order, tiles theirs in a chunk, and updates theirs in a tile.
#pragma once

#include "cuda/common/load_together.cuh"
#include "cuda/scatter/places.cuh"

namespace gpukern::gpu {

template <class Payload>
struct UpdateArrays {
  const std::uint32_t* keys;
  const Payload* payload;
  std::uint32_t* sorted_keys;
  Payload* sorted_payload;
};

__device__ inline SliceRange range_of_chunk(const Slices& slices, std::int64_t chunk) {
  return range_of_part(slices, chunk, slices.chunk);
}

inline constexpr int kSumKeys = 32;
inline constexpr int kSumParts = kThreads / kSumKeys;

/// Adds to `sum` the counts of a key in some chunks, and stores each sum if `stores`. Loads kBatch
/// counts before it adds them.
__device__ inline std::uint32_t sum_counts(std::uint32_t* count, std::int64_t keys,
                                           std::int64_t chunks, std::uint32_t sum, bool stores) {
  constexpr int kBatch = 8;
  for (std::int64_t done = 0; done < chunks; done += kBatch) {
    std::uint32_t next[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) next[k] = done + k < chunks ? count[(done + k) * keys] : 0;
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      sum += next[k];
      if (stores && done + k < chunks) count[(done + k) * keys] = sum;
    }
  }
  return sum;
}

/// The counts of each chunk's keys are added to those of the chunks after it.
struct ChunkSums {
  std::uint32_t of[kSumParts][kSumKeys];

  /// The groups of keys whose counts a block adds at a time.
  static __device__ std::int64_t groups(const Slices& slices) {
    return ((std::int64_t{1} << slices.bits) + kSumKeys - 1) / kSumKeys;
  }
  /// Of group `work % groups` of a slice, each thread for a key and a part of the chunks. All
  /// threads of a block call this.
  __device__ void add(const Slices& slices, std::int64_t work) {
    const std::int64_t keys = std::int64_t{1} << slices.bits;
    const int lane = static_cast<int>(threadIdx.x) % kSumKeys;
    const int part = static_cast<int>(threadIdx.x) / kSumKeys;
    const std::int64_t key = work % groups(slices) * kSumKeys + lane;
    const std::int64_t head = slices.heads[work / groups(slices)];
    const SliceRange range = range_of_chunk(slices, head);
    const std::int64_t chunks = (range.last - range.first + slices.chunk - 1) / slices.chunk;
    const std::int64_t each = (chunks + kSumParts - 1) / kSumParts;
    const std::int64_t begin = min(part * each, chunks);
    const std::int64_t own = key < keys ? min(each, chunks - begin) : 0;
    std::uint32_t* const count = slices.counts + (head + begin) * keys + key;
    of[part][lane] = sum_counts(count, keys, own, 0, false);
    __syncthreads();
    std::uint32_t before = 0;
    for (int p = 0; p < part; ++p) before += of[p][lane];
    sum_counts(count, keys, own, before, true);
    __syncthreads();
  }
};

/// A tile of the updates of a chunk, sorted in shared memory so that those of a key are written
/// together.
template <class Payload>
struct Tile {
  SortedTile<Payload> sorted;
  std::uint32_t* position;  ///< of each key: where its next update goes
  std::uint32_t keys;

  __device__ Tile(const Slices& slices, std::byte* memory)
      : sorted(memory, 1U << slices.bits),
        position(reinterpret_cast<std::uint32_t*>(memory + sorted.bytes(1U << slices.bits))),
        keys(1U << slices.bits) {}
  static std::size_t bytes(int bits) {
    return SortedTile<Payload>::bytes(1U << bits) + (sizeof(std::uint32_t) << bits);
  }
};

/// The keys [begin, end) of a thread.
struct OwnKeys {
  std::uint32_t begin;
  std::uint32_t end;
  __device__ explicit OwnKeys(std::uint32_t keys) {
    const std::uint32_t each = (keys + kTileThreads - 1) / kTileThreads;
    begin = min(threadIdx.x * each, keys);
    end = min(begin + each, keys);
  }
};

/// Where the keys of a chunk begin among the sorted updates.
template <class Payload>
__device__ void find_positions(const Slices& slices, std::int64_t chunk, const SliceRange& range,
                               const std::uint32_t* keys, const Tile<Payload>& tile,
                               TileScan::TempStorage& scan) {
  const bool several = chunk < slices.number[Slices::kChunks];
  const std::int64_t number = several ? slices.chunks[chunk].number : 0;
  const std::int64_t chunks = (range.last - range.first + slices.chunk - 1) / slices.chunk;
  const std::uint32_t* const total = slices.counts + (chunk - number + chunks - 1) * tile.keys;
  const auto keys_of_slice = static_cast<int>(tile.keys);
  if (several)
    load_together<kTileThreads, kTileTogether>(
        keys_of_slice, [&](int i) { return total[i]; },
        [&](int i, std::uint32_t count) { tile.position[i] = count; });
  else
    for (int i = threadIdx.x; i < keys_of_slice; i += kTileThreads) tile.position[i] = 0;
  __syncthreads();
  if (!several)
    for (std::int64_t i = range.begin + threadIdx.x; i < range.end; i += kTileThreads)
      atomicAdd(tile.position + (keys[i] & (tile.keys - 1)), 1);
  __syncthreads();
  const OwnKeys own(tile.keys);
  std::uint32_t sum = 0;
  for (std::uint32_t i = own.begin; i < own.end; ++i) sum += tile.position[i];
  TileScan(scan).ExclusiveSum(sum, sum);
  sum += static_cast<std::uint32_t>(range.first);
  for (std::uint32_t i = own.begin; i < own.end; ++i) {
    const std::uint32_t count = tile.position[i];
    tile.position[i] = sum;
    sum += count;
  }
  __syncthreads();
  if (number > 0)
    load_together<kTileThreads, kTileTogether>(
        keys_of_slice, [&](int i) { return slices.counts[(chunk - 1) * tile.keys + i]; },
        [&](int i, std::uint32_t before) { tile.position[i] += before; });
  __syncthreads();
}

/// Moves the updates of a chunk to their places. All threads of a block call this.
template <class Payload>
__device__ void place_chunk(const Slices& slices, std::int64_t chunk,
                            const UpdateArrays<Payload>& updates, std::byte* memory,
                            TileScan::TempStorage& scan) {
  using Key = std::uint32_t;
  const Tile<Payload> tile(slices, memory);
  const SortedTile<Payload>& sorted = tile.sorted;
  const auto thread = static_cast<int>(threadIdx.x);
  const int first = thread / 32 * (32 * kTileEach) + thread % 32;
  const SliceRange range = range_of_chunk(slices, chunk);
  const Key base = slices.chunk_at(chunk).slice << slices.bits;
  find_positions(slices, chunk, range, updates.keys, tile, scan);
  for (std::int64_t begin = range.begin; begin < range.end; begin += kTileUpdates) {
    const int count = static_cast<int>(min(range.end - begin, std::int64_t{kTileUpdates}));
    std::uint16_t key[kTileEach];
    Payload payload[kTileEach];
#pragma unroll
    for (int k = 0; k < kTileEach; ++k) {
      const std::int64_t at = begin + min(first + 32 * k, count - 1);
      key[k] = static_cast<std::uint16_t>(__ldcs(updates.keys + at) - base);
      payload[k] = UpdateBatch<Payload>::load(updates.payload + at);
    }
    sorted.places.clear();
    __syncthreads();
    std::uint16_t rank[kTileEach];
    sorted.places.count(
        kTileEach, [&](int k) { return first + 32 * k < count ? static_cast<int>(key[k]) : -1; },
        rank);
    __syncthreads();
    sorted.places.find(
        scan, [&](std::uint32_t of, std::uint32_t of_key) { tile.position[of] += of_key; });
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTileEach; ++k) {
      if (first + 32 * k >= count) continue;
      const int place = sorted.places.place(key[k], rank[k]);
      sorted.key[place] = key[k];
      sorted.payload[place] = payload[k];
    }
    __syncthreads();
    for (int i = thread; i < count; i += kTileThreads) {
      const std::uint32_t of = sorted.key[i];
      const std::uint32_t to = tile.position[of] - (sorted.places.begin(of + 1) - i);
      updates.sorted_keys[to] = base + of;
      updates.sorted_payload[to] = sorted.payload[i];
    }
    __syncthreads();
  }
}

}  // namespace gpukern::gpu

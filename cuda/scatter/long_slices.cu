// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sorts the updates of long slices by key: a counting sort with a counter for each key of a slice.
// It is stable: chunks keep their order, tiles theirs in a chunk, and updates theirs in a tile.

#include <cub/block/block_scan.cuh>

#include "cuda/scatter/slices.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

constexpr int kTileWarps = 8;
constexpr int kTileThreads = 32 * kTileWarps;
constexpr int kTileUpdates = 4096;
static_assert(kTileUpdates <= 65535, "16 bits hold a place in a tile");

template <class Payload>
struct UpdateArrays {
  const Key* keys;
  const Payload* payload;
  Key* sorted_keys;
  Payload* sorted_payload;
};

__device__ SliceRange range_of_chunk(const Slices& slices, std::int64_t chunk) {
  return range_of_part(slices, chunk, slices.chunk);
}

__device__ void count_keys(const Slices& slices, const Key* keys, const SliceRange& range,
                           std::uint32_t* count) {
  using Batch = UpdateBatch<std::uint32_t>;
  const Key mask = (1U << slices.bits) - 1;
  for (std::int64_t from = range.begin; from < range.end; from += Batch::kUpdates) {
    const Batch batch(keys, nullptr, from, range.end);
#pragma unroll
    for (int k = 0; k < Batch::kCount; ++k) {
      const Key at = batch.key[k] & mask;
      count_by_warp(batch.inside[k], count + at);
    }
  }
}

/// Counts the keys of the chunks of slices with several.
__global__ void __launch_bounds__(32)
    count_chunks_kernel(const __grid_constant__ Slices slices, const Key* keys) {
  extern __shared__ std::uint32_t count[];
  const std::int64_t number = std::int64_t{1} << slices.bits;
  for (std::int64_t chunk = blockIdx.x; chunk < slices.number[0]; chunk += gridDim.x) {
    for (std::int64_t i = threadIdx.x; i < number; i += 32) count[i] = 0;
    __syncwarp();
    count_keys(slices, keys, range_of_chunk(slices, chunk), count);
    for (std::int64_t i = threadIdx.x; i < number; i += 32)
      slices.counts[chunk * number + i] = count[i];
    __syncwarp();
  }
}

constexpr int kSumKeys = 32;
constexpr int kSumParts = kThreads / kSumKeys;

/// Adds to `sum` the counts of a key in some chunks, and stores each sum if `stores`. Loads kBatch
/// counts before it adds them.
__device__ std::uint32_t sum_counts(std::uint32_t* count, std::int64_t keys, std::int64_t chunks,
                                    std::uint32_t sum, bool stores) {
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

/// Adds the counts of each chunk's keys to those of the chunks after it, each thread for a key and
/// a part of the chunks.
__global__ void __launch_bounds__(kThreads)
    sum_chunks_kernel(const __grid_constant__ Slices slices) {
  __shared__ std::uint32_t sums[kSumParts][kSumKeys];
  const std::int64_t keys = std::int64_t{1} << slices.bits;
  const std::int64_t groups = (keys + kSumKeys - 1) / kSumKeys;
  const int lane = static_cast<int>(threadIdx.x) % kSumKeys;
  const int part = static_cast<int>(threadIdx.x) / kSumKeys;
  for (std::int64_t work = blockIdx.x; work < slices.number[2] * groups; work += gridDim.x) {
    const std::int64_t key = work % groups * kSumKeys + lane;
    const std::int64_t head = slices.heads[work / groups];
    const SliceRange range = range_of_chunk(slices, head);
    const std::int64_t chunks = (range.last - range.first + slices.chunk - 1) / slices.chunk;
    const std::int64_t each = (chunks + kSumParts - 1) / kSumParts;
    const std::int64_t begin = min(part * each, chunks);
    const std::int64_t own = key < keys ? min(each, chunks - begin) : 0;
    std::uint32_t* const count = slices.counts + (head + begin) * keys + key;
    sums[part][lane] = sum_counts(count, keys, own, 0, false);
    __syncthreads();
    std::uint32_t before = 0;
    for (int p = 0; p < part; ++p) before += sums[p][lane];
    sum_counts(count, keys, own, before, true);
    __syncthreads();
  }
}

/// A tile of the updates of a chunk, sorted in shared memory so that those of a key are written
/// together. Each warp has a part of the tile.
template <class Payload>
struct Tile {
  Payload* payload;
  Key* key;
  std::uint32_t* position;  ///< of each key: where its next update goes
  std::uint16_t* places;
  std::uint16_t* rank;  ///< of an update, among those of its key and warp
  std::uint32_t keys;

  __device__ Tile(const Slices& slices, std::byte* memory)
      : payload(reinterpret_cast<Payload*>(memory)),
        key(reinterpret_cast<Key*>(payload + kTileUpdates)),
        position(key + kTileUpdates),
        places(reinterpret_cast<std::uint16_t*>(position + (1U << slices.bits))),
        rank(places + place_count(1U << slices.bits)),
        keys(1U << slices.bits) {}
  /// The places of a key in the tile: where its updates of each warp begin.
  [[nodiscard]] __device__ std::uint16_t* places_of(std::uint32_t of) const {
    return places + padded(of) * kTileWarps;
  }
  [[nodiscard]] __device__ std::uint16_t& own_place(std::uint32_t of) const {
    return places_of(of)[threadIdx.x / 32];
  }

  /// Threads have neighbouring keys; the padding puts them into different banks.
  static __host__ __device__ constexpr std::uint32_t padded(std::uint32_t of) {
    return of + of / 16;
  }
  static __host__ __device__ constexpr std::uint32_t place_count(std::uint32_t keys) {
    return (padded(keys) + 1) * kTileWarps;
  }
};

using TileScan = cub::BlockScan<std::uint32_t, kTileThreads>;

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
                               const Key* keys, const Tile<Payload>& tile,
                               TileScan::TempStorage& scan) {
  const bool several = chunk < slices.number[0];
  const std::int64_t number = several ? slices.chunks[chunk].number : 0;
  const std::int64_t chunks = (range.last - range.first + slices.chunk - 1) / slices.chunk;
  const std::uint32_t* const total = slices.counts + (chunk - number + chunks - 1) * tile.keys;
  for (std::uint32_t i = threadIdx.x; i < tile.keys; i += kTileThreads)
    tile.position[i] = several ? total[i] : 0;
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
    for (std::uint32_t i = threadIdx.x; i < tile.keys; i += kTileThreads)
      tile.position[i] += slices.counts[(chunk - 1) * tile.keys + i];
  __syncthreads();
}

/// Replaces the counts of each key and warp by places, and advances the positions.
template <class Payload>
__device__ void find_places(const Tile<Payload>& tile, TileScan::TempStorage& scan) {
  const OwnKeys own(tile.keys);
  std::uint32_t sum = 0;
  for (std::uint32_t i = own.begin; i < own.end; ++i)
    for (int w = 0; w < kTileWarps; ++w) sum += tile.places_of(i)[w];
  TileScan(scan).ExclusiveSum(sum, sum);
  for (std::uint32_t i = own.begin; i < own.end; ++i) {
    const std::uint32_t before = sum;
    for (int w = 0; w < kTileWarps; ++w) {
      const std::uint32_t count = tile.places_of(i)[w];
      tile.places_of(i)[w] = static_cast<std::uint16_t>(sum);
      sum += count;
    }
    tile.position[i] += sum - before;
  }
  if (own.begin < own.end && own.end == tile.keys)
    tile.places_of(tile.keys)[0] = static_cast<std::uint16_t>(sum);
}

template <class Payload>
__global__ void __launch_bounds__(kTileThreads)
    place_chunks_kernel(const __grid_constant__ Slices slices,
                        const UpdateArrays<Payload> updates) {
  using Batch = UpdateBatch<Payload>;
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ TileScan::TempStorage scan;
  const Tile<Payload> tile(slices, memory);
  const Key mask = tile.keys - 1;
  const std::int64_t number = slices.all_chunks();
  for (std::int64_t chunk = blockIdx.x; chunk < number; chunk += gridDim.x) {
    const SliceRange range = range_of_chunk(slices, chunk);
    find_positions(slices, chunk, range, updates.keys, tile, scan);
    for (std::int64_t begin = range.begin; begin < range.end; begin += kTileUpdates) {
      const int count = static_cast<int>(min(range.end - begin, std::int64_t{kTileUpdates}));
      const int own_begin = static_cast<int>(threadIdx.x) / 32 * (kTileUpdates / kTileWarps);
      const int own_end = min(own_begin + kTileUpdates / kTileWarps, count);
      for (std::uint32_t i = threadIdx.x; i < tile.place_count(tile.keys); i += kTileThreads)
        tile.places[i] = 0;
      __syncthreads();
      for (int from = own_begin; from < own_end; from += Batch::kUpdates) {
        const Batch batch(updates.keys + begin, nullptr, from, own_end);
#pragma unroll
        for (int k = 0; k < Batch::kCount; ++k) {
          const EqualLanes equal =
              count_by_warp(batch.inside[k], &tile.own_place(batch.key[k] & mask));
          if (batch.inside[k])
            tile.rank[batch.at(from, k)] = static_cast<std::uint16_t>(equal.before + equal.rank());
        }
      }
      __syncthreads();
      find_places(tile, scan);
      __syncthreads();
      for (int from = own_begin; from < own_end; from += Batch::kUpdates) {
        const Batch batch(updates.keys + begin, updates.payload + begin, from, own_end);
#pragma unroll
        for (int k = 0; k < Batch::kCount; ++k) {
          if (!batch.inside[k]) continue;
          const int place = tile.own_place(batch.key[k] & mask) + tile.rank[batch.at(from, k)];
          tile.key[place] = batch.key[k];
          tile.payload[place] = batch.value[k];
        }
      }
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < count; i += kTileThreads) {
        const Key at = tile.key[i] & mask;
        const std::uint32_t to = tile.position[at] - (tile.places_of(at + 1)[0] - i);
        updates.sorted_keys[to] = tile.key[i];
        updates.sorted_payload[to] = tile.payload[i];
      }
      __syncthreads();
    }
  }
}

std::size_t tile_bytes(int payload_bytes, int bits) {
  using AnyTile = Tile<std::uint32_t>;
  const std::size_t keys = std::size_t{1} << bits;
  return kTileUpdates * (sizeof(Key) + payload_bytes + sizeof(std::uint16_t)) +
         keys * sizeof(std::uint32_t) + AnyTile::place_count(keys) * sizeof(std::uint16_t);
}

}  // namespace

int most_slice_bits(int payload_bytes) {
  const auto most = static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  int bits = 12;
  while (bits > 0 && tile_bytes(payload_bytes, bits) > most) --bits;
  return bits;
}

void scatter_sort_long_slices(const ScatterCall& call, const SortPlan& plan, const Slices& slices,
                              const SortArrays& arrays) {
  const auto sort = [&]<class Payload>(Payload) {
    const UpdateArrays<Payload> updates{
        static_cast<const Key*>(arrays.keys), static_cast<const Payload*>(arrays.payload),
        static_cast<Key*>(arrays.sorted_keys), static_cast<Payload*>(arrays.sorted_payload)};
    launch(count_chunks_kernel, Grid{2 * resident_grid(), 32, sizeof(std::uint32_t) << slices.bits},
           call.stream, slices, updates.keys);
    launch(sum_chunks_kernel, Grid{resident_grid()}, call.stream, slices);
    launch(place_chunks_kernel<Payload>,
           Grid{resident_grid(), kTileThreads, tile_bytes(plan.payload_bytes, slices.bits)},
           call.stream, slices, updates);
  };
  if (plan.payload_bytes == 8)
    sort(std::uint64_t{});
  else
    sort(std::uint32_t{});
}

}  // namespace gpukern::gpu

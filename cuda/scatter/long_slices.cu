// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sorts the updates of long slices by key: a counting sort with a counter for each key of a slice.
// It is stable: chunks keep their order, tiles theirs in a chunk, and updates theirs in a tile.

#include "cuda/scatter/places.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

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
  for (std::int64_t chunk = blockIdx.x; chunk < slices.number[Slices::kChunks];
       chunk += gridDim.x) {
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
  wait_for_previous();
  launch_next();
  const std::int64_t keys = std::int64_t{1} << slices.bits;
  const std::int64_t groups = (keys + kSumKeys - 1) / kSumKeys;
  const int lane = static_cast<int>(threadIdx.x) % kSumKeys;
  const int part = static_cast<int>(threadIdx.x) / kSumKeys;
  for (std::int64_t work = blockIdx.x; work < slices.number[Slices::kHeads] * groups;
       work += gridDim.x) {
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
                               const Key* keys, const Tile<Payload>& tile,
                               Places::Scan::TempStorage& scan) {
  const bool several = chunk < slices.number[Slices::kChunks];
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
  Places::Scan(scan).ExclusiveSum(sum, sum);
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

template <class Payload>
__global__ void __launch_bounds__(kTileThreads)
    place_chunks_kernel(const __grid_constant__ Slices slices,
                        const UpdateArrays<Payload> updates) {
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ Places::Scan::TempStorage scan;
  wait_for_previous();
  launch_next();
  const Tile<Payload> tile(slices, memory);
  const SortedTile<Payload>& sorted = tile.sorted;
  const auto thread = static_cast<int>(threadIdx.x);
  const int first = thread / 32 * (32 * kTileEach) + thread % 32;
  const std::int64_t number = slices.all_chunks();
  for (std::int64_t chunk = blockIdx.x; chunk < number; chunk += gridDim.x) {
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
}

std::size_t tile_bytes(int payload_bytes, int bits) {
  return payload_bytes == 8 ? Tile<std::uint64_t>::bytes(bits) : Tile<std::uint32_t>::bytes(bits);
}

}  // namespace

int most_slice_bits(int payload_bytes) {
  const auto most = static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  int bits = 12;
  while (bits > 0 && tile_bytes(payload_bytes, bits) > most) --bits;
  return bits;
}

void scatter_count_long_slices(const ScatterCall& call, const Slices& slices,
                               const std::uint32_t* keys) {
  launch(count_chunks_kernel, Grid{2 * resident_grid(), 32, sizeof(std::uint32_t) << slices.bits},
         call.stream, slices, keys);
}

void scatter_sort_long_slices(const ScatterCall& call, const SortPlan& plan, const Slices& slices,
                              const SortArrays& arrays) {
  const auto sort = [&]<class Payload>(Payload) {
    const UpdateArrays<Payload> updates{
        static_cast<const Key*>(arrays.keys), static_cast<const Payload*>(arrays.payload),
        static_cast<Key*>(arrays.sorted_keys), static_cast<Payload*>(arrays.sorted_payload)};
    launch(sum_chunks_kernel, Grid{.blocks = resident_grid(), .programmatic_launch = true},
           call.stream, slices);
    launch(place_chunks_kernel<Payload>,
           Grid{.blocks = resident_grid(),
                .threads = kTileThreads,
                .shared_bytes = tile_bytes(plan.payload_bytes, slices.bits),
                .programmatic_launch = true},
           call.stream, slices, updates);
  };
  if (plan.payload_bytes == 8)
    sort(std::uint64_t{});
  else
    sort(std::uint32_t{});
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The first pass: a counting sort of the indices of a tile by bucket.
#pragma once

#include <cub/block/block_scan.cuh>

#include "cuda/common/launch.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/gather/partition/partition.cuh"
#include "cuda/gather/partition/position.cuh"

namespace gpukern::gpu {

/// Vectors of indices that a thread has in flight.
inline constexpr int kBatch = 4;

template <int kTileItems, class Raw, class Position, class Shape>
struct SortTile {
  static constexpr int kThreads = sort_threads(kTileItems);
  using Offset = typename Shape::Offset;
  static constexpr int kUnit = Shape::kUnit;
  static constexpr Position kLeftOut = -2;
  static constexpr int kCount = 16 / sizeof(Raw);  ///< indices of a vector
  static constexpr int kSteps = kTileItems / (kThreads * kCount);
  static constexpr int kMaxKept = kKeptBytes / static_cast<int>(sizeof(Position)) / kCount;
  static constexpr int kKept = kSteps < kMaxKept ? kSteps : kMaxKept;
  /// Steps from kKept to this one are stashed, see stash().
  static constexpr int kStashed = kUnit > 1                        ? 2 * kKept
                                  : sizeof(Raw) > sizeof(Position) ? kSteps
                                                                   : kKept;
  static_assert(kStashed <= kSteps && kKept % kBatch == 0 && kStashed % kBatch == 0);
  // The algorithm that takes least shared memory: offsets and counters need it.
  using Scan = cub::BlockScan<unsigned, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;

  struct Shared {
    typename Scan::TempStorage scan;
    unsigned units;
  };

  const Partition& call;
  const Bounds<Raw>& bounds;
  Shared& shared;
  unsigned* counter;  ///< [buckets]; first counts, then the next rank of each bucket
  Offset* sorted;     ///< [capacity]
  std::int64_t tile = 0;
  bool leaves_out_near = false;

  using Indices = Vector<Raw, kCount>;
  using Positions = Vector<Position, kCount>;

  /// Positions that the registers do not hold are stashed: in shared memory, where 16-bit offsets
  /// leave room, or in the memory that the tile's offsets are written to in the end, which pays
  /// where positions are narrower than indices. A thread reads only what it has written. Indices
  /// that are not stashed are loaded again, from the L2 cache.
  __device__ Positions* stash(int step) const {
    std::byte* memory;
    if constexpr (kUnit > 1)
      memory = reinterpret_cast<std::byte*>(sorted + call.capacity);
    else
      memory = call.offsets + tile * call.offsets_stride;
    return reinterpret_cast<Positions*>(memory) + (step - kKept) * kThreads + threadIdx.x;
  }

  /// If indices change between counting and ranking, some ranks of a run are not written. They then
  /// hold offsets of earlier tiles or these zeros, all of which are inside a slice. (The cached
  /// fetch checks its offsets.)
  __device__ void clear() const {
    if constexpr (kUnit > 1) {
      auto* const words = reinterpret_cast<uint4*>(sorted);
      const unsigned count = call.capacity * sizeof(Offset) / sizeof(uint4);
      for (unsigned w = threadIdx.x; w < count; w += kThreads) words[w] = {};
    }
  }

  __device__ std::int64_t element(int step) const {
    return (std::int64_t{step} * kThreads + threadIdx.x) * kCount;
  }

  /// Steps from `first` on, all loads before the first use: a branch between them would serialise
  /// them. Steps beyond the last are not read.
  template <int kLoads>
  __device__ void load(int first, Indices (&raw)[kLoads]) const {
    const auto* from = reinterpret_cast<const Raw*>(call.index) + tile * kTileItems;
#pragma unroll
    for (int s = 0; s < kLoads; ++s)
      if (first + s < kSteps) raw[s] = *reinterpret_cast<const Indices*>(from + element(first + s));
  }

  /// Negative for those that have no bucket: kLeftOut or -1 for the fill value.
  __device__ void resolve(const Indices& raw, Position (&position)[kCount]) const {
    bool common = true;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      position[k] = static_cast<Position>(raw.element[k]);
      common = common && raw.element[k] <= bounds.last;
    }
    if (!common) {
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        position[k] = static_cast<Position>(uncommon_position(bounds, raw.element[k]));
    }
    if (!leaves_out_near) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Position other = __shfl_sync(~0U, position[k], near_lane(threadIdx.x % 32, kCount));
      if (position[k] >= 0 && other >= 0 &&
          are_near(position[k] >> call.sector_shift, other >> call.sector_shift))
        position[k] = kLeftOut;
    }
  }

  __device__ unsigned bucket(Position position) const {
    return static_cast<unsigned>(position >> call.shift) / Shape::kFactor;
  }

  __device__ void count(const Position (&position)[kCount]) {
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      if (position[k] >= 0) atomicAdd(counter + bucket(position[k]), 1);
  }

  /// Counts the steps that registers hold.
  __device__ void count_kept(Position (&kept)[kKept][kCount]) {
#pragma unroll
    for (int first = 0; first < kKept; first += kBatch) {
      Indices raw[kBatch];
      load(first, raw);
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        if (first + s >= kKept) continue;
        resolve(raw[s], kept[first + s]);
        count(kept[first + s]);
      }
    }
  }

  /// Counts the others.
  __device__ void count_rest() {
#pragma unroll 1
    for (int first = kKept; first < kSteps; first += kBatch) {
      Indices raw[kBatch];
      load(first, raw);
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        if (first + s >= kSteps) continue;
        Positions position;
        resolve(raw[s], position.element);
        count(position.element);
        if (first < kStashed) *stash(first + s) = position;
      }
    }
  }

  __device__ void note_heavy(unsigned b, unsigned run) const {
    const unsigned before = atomicAdd(call.heavy_of + b, run);
    for (unsigned part = before / call.heavy_units; part < (before + run) / call.heavy_units;
         ++part)
      call.extra_parts[atomicAdd(&call.state->extra_parts, 1)] = {b, part + 1};
  }

  /// Turns counts into first ranks, padded to units, and writes the tile's row of starts.
  __device__ void lay_out() {
    const unsigned per_thread = (call.buckets + kThreads - 1) / kThreads;
    const unsigned begin = min(threadIdx.x * per_thread, call.buckets);
    const unsigned end = min(begin + per_thread, call.buckets);
    unsigned mine = 0;
    for (unsigned b = begin; b < end; ++b) mine += (counter[b] + kUnit - 1) / kUnit;
    unsigned start = 0;
    unsigned units = 0;
    Scan(shared.scan).ExclusiveSum(mine, start, units);
    std::uint16_t* const row = call.starts + tile * call.starts_stride;
    for (unsigned b = begin; b < end; ++b) {
      const unsigned items = counter[b];
      const unsigned run = (items + kUnit - 1) / kUnit;
      row[b] = static_cast<std::uint16_t>(start);
      counter[b] = start * kUnit;
      for (unsigned pad = items; pad < run * kUnit; ++pad) sorted[start * kUnit + pad] = 0;
      if (run > call.heavy) note_heavy(b, run);
      start += run;
    }
    if (threadIdx.x == 0) {
      row[call.buckets] = static_cast<std::uint16_t>(units);
      shared.units = units;
    }
  }

  /// Writes the offset of an index to its bucket and returns its rank. The index may have changed
  /// since it was counted: the rank is inside the tile nevertheless, and the offset inside a slice.
  __device__ unsigned rank(Position position) {
    if (position < 0) return position == kLeftOut ? kDirectRank : kNoRank;
    const unsigned b = bucket(position);
    const unsigned at = min(atomicAdd(counter + b, 1), call.capacity - 1);
    const Position first = static_cast<Position>(b * Shape::kFactor) << call.shift;
    sorted[at] = static_cast<Offset>(position - first);
    return at;
  }

  __device__ void rank_all(int step, const Position (&position)[kCount]) {
    Vector<std::uint16_t, kCount> ranks;
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      ranks.element[k] = static_cast<std::uint16_t>(rank(position[k]));
    std::uint16_t* const to = call.ranks + tile * kTileItems + element(step);
    store_streaming(reinterpret_cast<Vector<std::uint16_t, kCount>*>(to), ranks);
  }

  /// Ranks the steps that registers do not hold.
  __device__ void rank_rest() {
    // In reverse: what was loaded last is the likeliest to be in the L2 cache.
    constexpr int kLast = kStashed + (kSteps - 1 - kStashed) / kBatch * kBatch;
#pragma unroll 1
    for (int first = kLast; first >= kStashed && kStashed < kSteps; first -= kBatch) {
      Indices raw[kBatch];
      load(first, raw);
#pragma unroll
      for (int s = 0; s < kBatch; ++s) {
        if (first + s >= kSteps) continue;
        Position position[kCount];
        resolve(raw[s], position);
        rank_all(first + s, position);
      }
    }
#pragma unroll 1
    for (int first = kKept; first < kStashed; first += kBatch) {
      Positions position[kBatch];
#pragma unroll
      for (int s = 0; s < kBatch; ++s) position[s] = *stash(first + s);
#pragma unroll
      for (int s = 0; s < kBatch; ++s) rank_all(first + s, position[s].element);
    }
  }

  __device__ void write() const {
    constexpr unsigned kWord = 16 / sizeof(Offset);
    auto* const to = reinterpret_cast<uint4*>(call.offsets + tile * call.offsets_stride);
    const auto* const from = reinterpret_cast<const uint4*>(sorted);
    const unsigned words = (shared.units * kUnit + kWord - 1) / kWord;
    for (unsigned w = threadIdx.x; w < words; w += kThreads) __stcs(to + w, from[w]);
  }
};

/// `Position` is signed and holds every position.
template <int kTileItems, class Raw, class Position, class Shape>
__global__ void __launch_bounds__(sort_threads(kTileItems),
                                  kSortMaxThreads / sort_threads(kTileItems))
    partition_sort_kernel(const __grid_constant__ Partition call,
                          const __grid_constant__ Bounds<Raw> bounds) {
  using Tile = SortTile<kTileItems, Raw, Position, Shape>;
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) std::byte dynamic[];
  __shared__ typename Tile::Shared shared;
  auto* const counter = reinterpret_cast<unsigned*>(dynamic);
  auto* const sorted =
      reinterpret_cast<typename Shape::Offset*>(dynamic + counter_bytes(call.buckets));
  Tile tile{call, bounds, shared, counter, sorted};
  tile.clear();
  wait_for_previous();
  launch_next();
  if (call.state->local) return;
  tile.leaves_out_near = call.state->mixed;
  for (tile.tile = blockIdx.x; tile.tile < call.tiles; tile.tile += gridDim.x) {
    for (unsigned b = threadIdx.x; b <= call.buckets; b += Tile::kThreads) counter[b] = 0;
    __syncthreads();
    Position kept[Tile::kKept][Tile::kCount];
    tile.count_kept(kept);
    tile.count_rest();
    __syncthreads();
    tile.lay_out();
    __syncthreads();
    tile.rank_rest();
#pragma unroll
    for (int step = 0; step < Tile::kKept; ++step) tile.rank_all(step, kept[step]);
    __syncthreads();
    tile.write();
    __syncthreads();
  }
#endif
}

}  // namespace gpukern::gpu

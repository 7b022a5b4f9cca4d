// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The first pass: the indices of a tile in the order of their buckets, by counting.
#pragma once

#include <cub/block/block_scan.cuh>

#include "gather_bounds.cuh"
#include "gather_fill.cuh"
#include "partition.cuh"
#include "gather_vector.cuh"

namespace gpukern::gpu {

/// Bytes of positions that a thread keeps in registers; the rest are read again, from the L2 cache.
inline constexpr int kKeptBytes = 128;

/// A tile is gathered at once, where it lies, if direct access is fast for it: if its indices meet
/// few different sectors of 32 bytes (sorted, in blocks, often the same), or if neighbours stay in a
/// window that the L2 cache holds (sorted, but far apart). The first indices of the tile tell.
class LocalityTest {
 public:
  /// Words of the bitmap of sectors, which the caller lends and clears.
  static constexpr int kBitmapWords = 2048;

  __device__ void clear() {
    if (threadIdx.x == 0) sectors_ = near_ = 0;
  }

  template <std::size_t kItemBytes, class Position, int kCount>
  __device__ void add(const Position (&position)[kCount], unsigned* bitmap, unsigned window) {
#if __CUDA_ARCH__ >= 900
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
    constexpr int kGranule = 10;  // so that positions beyond 2**32 compare as 32-bit numbers
    unsigned fresh = 0;
    unsigned first = ~0U;
    unsigned last = 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const std::uint64_t sector = static_cast<std::uint64_t>(position[k]) * kItemBytes / 32;
      const auto hash = static_cast<unsigned>((sector * kGolden) >> 48);
      const unsigned bit = 1U << (hash % 32);
      fresh += (atomicOr(bitmap + hash / 32, bit) & bit) == 0;
      const auto granule = static_cast<unsigned>(position[k] >> kGranule);
      first = min(first, granule);
      last = max(last, granule);
    }
    fresh = __reduce_add_sync(~0U, fresh);
    first = __reduce_min_sync(~0U, first);
    last = __reduce_max_sync(~0U, last);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(&sectors_, fresh);
    if (last - first < (window >> kGranule)) atomicAdd(&near_, 1);
#endif
  }

  /// After a __syncthreads().
  __device__ bool local(unsigned seen) const {
    return sectors_ < seen / 4 * 3 || near_ > kPartitionThreads / 32 / 2;
  }

 private:
  unsigned sectors_;
  unsigned near_;
};

/// Kept apart, so that the loops over common indices stay short.
template <class Raw>
__device__ __noinline__ std::int64_t uncommon_position(const Bounds<Raw>& bounds, Raw raw) {
  return bounds.position(raw);
}

template <class Item, class Raw, class Position, class Shape>
struct SortTile {
  using Offset = typename Shape::Offset;
  static constexpr int kUnit = Shape::kUnit;
  static constexpr int kCount = 16 / sizeof(Raw);  ///< indices that a thread reads at once
  static constexpr int kSteps = kTile<sizeof(Item)> / (kPartitionThreads * kCount);
  static constexpr int kMostKept = kKeptBytes / static_cast<int>(sizeof(Position)) / kCount;
  static constexpr int kKept = kSteps < kMostKept ? kSteps : kMostKept;
  using Scan = cub::BlockScan<unsigned, kPartitionThreads>;

  struct Shared {
    typename Scan::TempStorage scan;
    LocalityTest locality;
    unsigned units;
  };

  const Partition& call;
  const Bounds<Raw>& bounds;
  const Fill& fill;
  Shared& shared;
  unsigned* counter;  ///< [buckets]; first counts, then the next place of each bucket
  Offset* sorted;     ///< [capacity]

  using Indices = Vector<Raw, kCount>;

  __device__ std::int64_t tile() const { return blockIdx.x; }
  __device__ std::int64_t element(int step) const {
    return (std::int64_t{step} * kPartitionThreads + threadIdx.x) * kCount;
  }

  __device__ void read(int step, Position (&position)[kCount]) const {
    const auto* from = reinterpret_cast<const Raw*>(call.index) + tile() * kTile<sizeof(Item)>;
    const Indices raw = *reinterpret_cast<const Indices*>(from + element(step));
    bool common = true;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      position[k] = static_cast<Position>(raw.element[k]);
      common = common && raw.element[k] <= bounds.last;
    }
    if (common) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      position[k] = static_cast<Position>(uncommon_position(bounds, raw.element[k]));
  }

  /// Bad indices belong to no bucket.
  __device__ unsigned bucket(Position position) const {
    return static_cast<unsigned>(position >> call.shift) / Shape::kFactor;
  }

  __device__ void count(const Position (&position)[kCount]) {
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      if (position[k] >= 0) atomicAdd(counter + bucket(position[k]), 1);
  }

  /// Turns counts into places, padded to units, and writes the tile's row of starts.
  __device__ void lay_out() {
    const unsigned per_thread = (call.buckets + kPartitionThreads - 1) / kPartitionThreads;
    const unsigned begin = min(threadIdx.x * per_thread, call.buckets);
    const unsigned end = min(begin + per_thread, call.buckets);
    unsigned mine = 0;
    for (unsigned b = begin; b < end; ++b) mine += (counter[b] + kUnit - 1) / kUnit;
    unsigned start = 0;
    unsigned units = 0;
    Scan(shared.scan).ExclusiveSum(mine, start, units);
    std::uint16_t* const row = call.starts + tile() * call.starts_stride;
    for (unsigned b = begin; b < end; ++b) {
      const unsigned items = counter[b];
      const unsigned run = (items + kUnit - 1) / kUnit;
      row[b] = static_cast<std::uint16_t>(start);
      counter[b] = start * kUnit;
      for (unsigned pad = items; pad < run * kUnit; ++pad) sorted[start * kUnit + pad] = 0;
      if (run > call.heavy) atomicAdd(call.heavy_of + b, run);
      start += run;
    }
    if (threadIdx.x == 0) {
      row[call.buckets] = static_cast<std::uint16_t>(units);
      shared.units = units;
    }
  }

  /// Puts an index into its bucket. Its memory may have changed since it was counted: the place is
  /// inside the tile nevertheless, and the offset inside a slice.
  __device__ unsigned place(Position position) {
    if (position < 0) return kNoPlace;
    const unsigned b = bucket(position);
    const unsigned at = min(atomicAdd(counter + b, 1), call.capacity - 1);
    sorted[at] =
        static_cast<Offset>(position - (static_cast<Position>(b * Shape::kFactor) << call.shift));
    return at;
  }

  __device__ void place_all(int step, const Position (&position)[kCount]) {
    Vector<std::uint16_t, kCount> places;
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      places.element[k] = static_cast<std::uint16_t>(place(position[k]));
    std::uint16_t* const to = call.places + tile() * kTile<sizeof(Item)> + element(step);
    store_once(reinterpret_cast<Vector<std::uint16_t, kCount>*>(to), places);
  }

  __device__ void gather_here() const {
    Item* const out = reinterpret_cast<Item*>(call.out) + tile() * kTile<sizeof(Item)>;
    const auto* const source = reinterpret_cast<const Item*>(call.source);
#pragma unroll 4
    for (int step = 0; step < kSteps; ++step) {
      Position position[kCount];
      read(step, position);
      Vector<Item, kCount> items;
#pragma unroll
      for (int k = 0; k < kCount; ++k)
        items.element[k] =
            position[k] < 0 ? fill.chunk<Item>(0) : __ldg(source + position[k]);
      store_once(reinterpret_cast<Vector<Item, kCount>*>(out + element(step)), items);
    }
  }

  __device__ void write() const {
    constexpr unsigned kWord = 16 / sizeof(Offset);
    auto* const to = reinterpret_cast<uint4*>(call.offsets + tile() * call.offsets_stride);
    const auto* const from = reinterpret_cast<const uint4*>(sorted);
    const unsigned words = (shared.units * kUnit + kWord - 1) / kWord;
    for (unsigned w = threadIdx.x; w < words; w += kPartitionThreads) __stcs(to + w, from[w]);
  }
};

/// `Position` is signed and holds every position.
template <class Item, class Raw, class Position, class Shape>
__global__ void __launch_bounds__(kPartitionThreads)
    partition_sort_kernel(const __grid_constant__ Partition call,
                          const __grid_constant__ Bounds<Raw> bounds,
                          const __grid_constant__ Fill fill) {
#if __CUDA_ARCH__ >= 900
  using Tile = SortTile<Item, Raw, Position, Shape>;
  constexpr int kCount = Tile::kCount;
  extern __shared__ __align__(128) std::byte dynamic[];
  __shared__ typename Tile::Shared shared;
  auto* const counter = reinterpret_cast<unsigned*>(dynamic);
  auto* const sorted = dynamic + counter_bytes(call.buckets);
  Tile tile{call, bounds, fill, shared, counter,
            reinterpret_cast<typename Shape::Offset*>(sorted)};
  for (unsigned b = threadIdx.x; b < call.buckets; b += kPartitionThreads) counter[b] = 0;
  auto* const bitmap = reinterpret_cast<unsigned*>(sorted);
  for (int w = static_cast<int>(threadIdx.x); w < LocalityTest::kBitmapWords;
       w += kPartitionThreads)
    bitmap[w] = 0;
  shared.locality.clear();
  Position position[kCount];
  tile.read(0, position);
  __syncthreads();
  shared.locality.template add<sizeof(Item)>(position, bitmap, call.window);
  __syncthreads();
  if (shared.locality.local(kPartitionThreads * kCount)) {
    if (threadIdx.x == 0) call.sorted[blockIdx.x] = 0;
    return tile.gather_here();
  }

  Position kept[Tile::kKept][kCount];
#pragma unroll
  for (int step = 0; step < Tile::kKept; ++step) {
    if (step > 0) tile.read(step, position);
    tile.count(position);
#pragma unroll
    for (int k = 0; k < kCount; ++k) kept[step][k] = static_cast<Position>(position[k]);
  }
#pragma unroll 4
  for (int step = Tile::kKept; step < Tile::kSteps; ++step) {
    tile.read(step, position);
    tile.count(position);
  }
  __syncthreads();
  tile.lay_out();
  __syncthreads();
#pragma unroll 4
  for (int step = Tile::kSteps - 1; step >= Tile::kKept; --step) {
    tile.read(step, position);
    tile.place_all(step, position);
  }
#pragma unroll
  for (int step = 0; step < Tile::kKept; ++step) {
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      position[k] = kept[step][k];
    tile.place_all(step, position);
  }
  __syncthreads();
  tile.write();
  if (threadIdx.x == 0) {
    call.sorted[blockIdx.x] = 1;
    atomicAdd(&call.state->tiles, 1);
  }
#endif
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The second pass: slice by slice, the items that the tiles need of it.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/shared_copy.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/common/work_tiles.cuh"
#include "cuda/gather/partition/partition.cuh"

namespace gpukern::gpu {

/// A bucket's run in a tile, in units.
struct Run {
  unsigned begin = 0;
  unsigned end = 0;
};

__device__ inline Run load_run(const Partition& call, unsigned bucket, unsigned tile,
                               unsigned tiles_end) {
  if (tile >= tiles_end) return {};
  const std::uint16_t* const start = call.starts + std::int64_t{tile} * call.starts_stride + bucket;
  return {start[0], start[1]};
}

/// The runs of 32 tiles as one sequence of units, a tile a lane.
class RunSequence {
 public:
  __device__ explicit RunSequence(const Run& run, unsigned stride) : end_(run.end - run.begin) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned d = 1; d < 32; d *= 2) {
      const unsigned before = __shfl_up_sync(~0U, end_, d);
      if (lane >= d) end_ += before;
    }
    size_ = __shfl_sync(~0U, end_, 31);
    origin_ = lane * stride + run.end - end_;
  }

  __device__ unsigned size() const { return size_; }

  /// The position of the unit, counted from the first tile on.
  __device__ unsigned locate(unsigned unit) const {
    unsigned tile = 0;
#pragma unroll
    for (unsigned d = 16; d > 0; d /= 2) {
      const unsigned end = __shfl_sync(~0U, end_, tile + d - 1);
      if (end <= unit) tile += d;
    }
    return __shfl_sync(~0U, origin_, tile) + unit;
  }

 private:
  unsigned end_;
  unsigned size_;
  unsigned origin_;
};

/// Prefetches a bucket's slice into the L2 cache, in whole words of 16 bytes.
template <class Item, int kUnit>
__device__ void prefetch_slice(const Partition& call, unsigned bucket) {
  constexpr std::int64_t kPiece = 16384;
  const std::int64_t items = std::int64_t{SharedSlices<kUnit>::kFactor} << call.shift;
  const std::int64_t first = bucket * items;
  const std::int64_t bytes = min(items, call.n - first) * sizeof(Item) / 16 * 16;
  const std::int64_t at = threadIdx.x * kPiece;
  if (at < bytes)
    prefetch_l2(call.source + first * sizeof(Item) + at,
                static_cast<unsigned>(min(kPiece, bytes - at)));
}

/// From slices in shared memory. A block takes a bucket, or a part of a heavy one so that skewed
/// indices do not leave one multiprocessor with most of the work: it copies the slice in, and each
/// warp takes 32 tiles at a time. Those with far more items of the bucket than most, as where a
/// tile has neighbouring indices, are deferred: all warps share them in the end.
template <class Item, int kUnit>
struct FetchShared {
  static constexpr unsigned kInFlight = 3;  ///< units a thread: notes/gather.md#partitioned-gather
  static constexpr unsigned kTogether = 32 * kInFlight;  ///< units a warp
  static constexpr unsigned kMaxDeferred = 64;
  using Offsets = Vector<std::uint16_t, kUnit>;
  using Items = Vector<Item, kUnit>;

  struct Shared {
    BulkBarrier barrier;
    WorkTiles::Shared taken;
    unsigned deferred;
    unsigned tile[kMaxDeferred];   ///< the first of 32
    unsigned units[kMaxDeferred];  ///< of these 32
  };

  const Partition& call;
  const Item* slice;
  Shared& shared;

  __device__ unsigned stride() const { return call.capacity / kUnit; }

  /// kTogether units of the 32 tiles from `begin` on, and of each `step` after them.
  __device__ void fetch(const RunSequence& sequence, unsigned tile, unsigned begin,
                        unsigned step) const {
    const unsigned lane = threadIdx.x % 32;
    const auto* const offsets =
        reinterpret_cast<const Offsets*>(call.offsets + tile * call.offsets_stride);
    auto* const out = reinterpret_cast<Items*>(call.items + tile * call.items_stride);
#pragma unroll 1
    for (; begin < sequence.size(); begin += step) {
      Offsets offset[kInFlight];
      unsigned at[kInFlight];
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) {
        const unsigned unit = begin + k * 32 + lane;
        at[k] = sequence.locate(unit);
        if (unit < sequence.size()) offset[k] = offsets[at[k]];
      }
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) {
        if (begin + k * 32 + lane >= sequence.size()) continue;
        Items found;
#pragma unroll
        for (int j = 0; j < kUnit; ++j) found.element[j] = slice[offset[k].element[j]];
        store_streaming(out + at[k], found);
      }
    }
  }

  /// Leaves the 32 tiles for fetch_deferred(). False if the list is full.
  __device__ bool defer(unsigned tile, unsigned units) const {
    unsigned before = 0;
    if (threadIdx.x % 32 == 0) before = atomicAdd(&shared.deferred, 1);
    before = __shfl_sync(~0U, before, 0);
    if (before >= kMaxDeferred) return false;
    shared.tile[before] = tile;
    shared.units[before] = units;
    return true;
  }

  /// By all warps, when all have fetched the rest of the bucket. The caller synchronizes the block
  /// before the next bucket.
  __device__ void fetch_deferred(unsigned bucket, unsigned tiles_end) const {
    __syncthreads();
    const unsigned deferred = min(shared.deferred, kMaxDeferred);
    if (deferred == 0) return;
    unsigned first_warp = 0;  // modulo 32
    for (unsigned d = 0; d < deferred; ++d) {
      const unsigned warps = (shared.units[d] + kTogether - 1) / kTogether;
      const unsigned own = (threadIdx.x / 32 - first_warp) % 32;
      first_warp += warps;
      if (own >= warps) continue;
      const unsigned tile = shared.tile[d];
      const Run run = load_run(call, bucket, tile + threadIdx.x % 32, tiles_end);
      fetch(RunSequence(run, stride()), tile, own * kTogether, 32 * kTogether);
    }
    __syncthreads();
    if (threadIdx.x == 0) shared.deferred = 0;
  }
};

template <class Item, int kUnit>
__global__ void __launch_bounds__(kPartitionThreads, 1)
    partition_fetch_shared_kernel(const __grid_constant__ Partition call) {
#if __CUDA_ARCH__ >= 900
  using Shape = SharedSlices<kUnit>;
  using Fetch = FetchShared<Item, kUnit>;
  // A slice for each multiprocessor: those of 4-byte items would evict the rest from the L2 cache.
  constexpr bool kPrefetch = sizeof(Item) <= 2;
  extern __shared__ __align__(128) std::byte dynamic[];
  __shared__ typename Fetch::Shared shared;
  auto* const slice = reinterpret_cast<Item*>(dynamic);
  static_assert(sizeof(shared) <= kDeclaredSharedBytes);
  if (threadIdx.x == 0) shared.deferred = 0;
  wait_for_previous();
  launch_next();
  if (call.state->local) return;
  const unsigned parts = call.buckets + call.state->extra_parts;
  const unsigned lane = threadIdx.x % 32;
  const Fetch fetch{call, slice, shared};
  const unsigned most = 32 * call.heavy;  // units of 32 tiles that are not deferred
  SharedCopy copy(shared.barrier);
  WorkTiles work(&call.state->taken, shared.taken);
  for (unsigned p = blockIdx.x; p < parts; p = gridDim.x + work.take()) {
    work.request();
    const ExtraPart part = p < call.buckets ? ExtraPart{p, 0} : call.extra_parts[p - call.buckets];
    const unsigned of = 1 + call.heavy_of[part.bucket] / call.heavy_units;
    const auto share = [&](unsigned number) {
      return static_cast<unsigned>(std::uint64_t{call.tiles} * number / of);
    };
    const unsigned tiles_end = share(part.number + 1);
    const std::int64_t first = static_cast<std::int64_t>(part.bucket * Shape::kFactor)
                               << call.shift;
    const std::int64_t items = min(std::int64_t{Shape::kFactor} << call.shift, call.n - first);
    copy.start(slice, call.source + first * sizeof(Item),
               static_cast<unsigned>(items * sizeof(Item)));
    unsigned tile = share(part.number) + threadIdx.x / 32 * 32;
    Run next = load_run(call, part.bucket, tile + lane, tiles_end);
    copy.wait();
    if constexpr (kPrefetch) {
      if (p + gridDim.x < call.buckets) prefetch_slice<Item, kUnit>(call, p + gridDim.x);
    }
    for (; tile < tiles_end; tile += kPartitionThreads) {
      const RunSequence sequence(next, fetch.stride());
      next = load_run(call, part.bucket, tile + kPartitionThreads + lane, tiles_end);
      if (sequence.size() > most && fetch.defer(tile, sequence.size())) continue;
      fetch.fetch(sequence, tile, 0, Fetch::kTogether);
    }
    fetch.fetch_deferred(part.bucket, tiles_end);
  }
#endif
}

/// From slices in the L2 cache. All blocks work on a few neighbouring buckets at a time, so that
/// those stay cached; a warp takes kTiles tiles of one, kRuns runs at a time.
template <class Item>
struct FetchCached {
  static constexpr int kTiles = kFetchCachedTiles;
  static constexpr int kRuns = sizeof(Item) <= 4 ? 4 : 2;
  static constexpr int kPerLane = sizeof(Item) <= 4 ? 2 : 3;  ///< items of a run in flight
  static constexpr int kBlocks = fetch_cached_blocks(sizeof(Item));
  static_assert(kTiles % kRuns == 0);
  static constexpr unsigned kTilesPerBlock = kFetchCachedThreads / 32 * kTiles;

  const Item* slice;
  unsigned last;  ///< offset in the slice
  unsigned lane;

  /// The memory of the indices may have changed: stay inside.
  __device__ Item item(std::uint32_t offset) const { return __ldg(slice + min(offset, last)); }

  /// The runs of neighbouring tiles; the pointers are those of the first.
  __device__ void fetch(const Partition& call, const std::byte* offsets, std::byte* items,
                        const Run (&run)[kRuns]) const {
    const auto load_offset = [&](int r, unsigned at) {
      return reinterpret_cast<const std::uint32_t*>(offsets + r * call.offsets_stride)[at];
    };
    const auto store = [&](int r, unsigned at, Item item) {
      __stcs(reinterpret_cast<Item*>(items + r * call.items_stride) + at, item);
    };
    std::uint32_t offset[kRuns][kPerLane];
    Item found[kRuns][kPerLane];
#pragma unroll
    for (int r = 0; r < kRuns; ++r)
#pragma unroll
      for (int k = 0; k < kPerLane; ++k) {
        const unsigned at = run[r].begin + k * 32 + lane;
        offset[r][k] = at < run[r].end ? load_offset(r, at) : 0;
      }
#pragma unroll
    for (int r = 0; r < kRuns; ++r)
#pragma unroll
      for (int k = 0; k < kPerLane; ++k)
        if (run[r].begin + k * 32 + lane < run[r].end) found[r][k] = item(offset[r][k]);
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
#pragma unroll
      for (int k = 0; k < kPerLane; ++k) {
        const unsigned at = run[r].begin + k * 32 + lane;
        if (at < run[r].end) store(r, at, found[r][k]);
      }
      for (unsigned at = run[r].begin + kPerLane * 32 + lane; at < run[r].end; at += 64) {
        const bool two = at + 32 < run[r].end;
        const std::uint32_t next = two ? load_offset(r, at + 32) : 0;
        const Item pair[] = {item(load_offset(r, at)), item(next)};
        store(r, at, pair[0]);
        if (two) store(r, at + 32, pair[1]);
      }
    }
  }
};

template <class Item>
__global__ void __launch_bounds__(kFetchCachedThreads,
                                  resident_blocks(FetchCached<Item>::kBlocks, kFetchCachedThreads))
    partition_fetch_cached_kernel(const __grid_constant__ Partition call) {
  using Fetch = FetchCached<Item>;
  wait_for_previous();
  launch_next();
  if (call.state->local) return;
  const unsigned groups = (call.tiles + Fetch::kTilesPerBlock - 1) / Fetch::kTilesPerBlock;
  const unsigned lane = threadIdx.x % 32;
  const std::int64_t slice_items = std::int64_t{1} << call.shift;
  __shared__ WorkTiles::Shared taken;
  WorkTiles work(&call.state->taken, taken);
  const unsigned work_tiles = call.buckets * groups;
  for (unsigned w = blockIdx.x; w < work_tiles; w = gridDim.x + work.take()) {
    work.request();
    const unsigned bucket = w / groups;
    const unsigned group = w % groups;
    const std::int64_t first = bucket * slice_items;
    const Fetch fetch{reinterpret_cast<const Item*>(call.source) + first,
                      static_cast<unsigned>(min(slice_items, call.n - first) - 1), lane};
    const unsigned tile = group * Fetch::kTilesPerBlock + threadIdx.x / 32 * Fetch::kTiles;
    const unsigned tiles_end = min(tile + Fetch::kTiles, call.tiles);
    const Run mine = load_run(call, bucket, tile + lane, tiles_end);
    const std::byte* offsets = call.offsets + tile * call.offsets_stride;
    std::byte* items = call.items + tile * call.items_stride;
#pragma unroll
    for (int t = 0; t < Fetch::kTiles; t += Fetch::kRuns) {
      Run run[Fetch::kRuns];
#pragma unroll
      for (int r = 0; r < Fetch::kRuns; ++r)
        run[r] = {__shfl_sync(~0U, mine.begin, t + r), __shfl_sync(~0U, mine.end, t + r)};
      fetch.fetch(call, offsets, items, run);
      offsets += Fetch::kRuns * call.offsets_stride;
      items += Fetch::kRuns * call.items_stride;
    }
  }
}

}  // namespace gpukern::gpu

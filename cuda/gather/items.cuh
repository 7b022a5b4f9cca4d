// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdlib>

#include "cuda/common/warp_transpose.cuh"
#include "cuda/common/work_tiles.cuh"
#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {

struct ItemArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t axis_stride;
  std::int64_t count;
  bool evict_first;  ///< indices, so that more of the source stays in the L2 cache

  explicit ItemArgs(const GatherProblem& problem)
      : source(problem.args.source),
        index(problem.args.index),
        out(problem.args.out),
        axis_stride(problem.rows.axis_stride),
        count(problem.rows.count),
        evict_first(problem.tuning.evict_first(problem.args.n * bytes_per_item(problem))) {}

  /// Bytes of the source that an item brings into the cache: a sector where items are far apart.
  static std::int64_t bytes_per_item(const GatherProblem& problem) {
    constexpr std::int64_t kSector = 32;
    return std::max(problem.args.item, std::min(std::abs(problem.rows.axis_stride), kSector));
  }
};

/// Whether lanes exchange indices, see ItemVectors::gather(). It is slower for items below 4 bytes:
/// benchmarks/notes/gather.md#items.
template <class Item>
inline constexpr bool kExchanged = sizeof(Item) >= 4;

/// Raw indices from `first` on; zero, a position of every axis, past the end.
template <class Raw, int kCount>
__device__ Vector<Raw, kCount> load_indices(const std::byte* index, std::int64_t first,
                                            std::int64_t count, const CachePolicy& policy) {
  using Indices = Vector<Raw, kCount>;
  const Raw* const from = reinterpret_cast<const Raw*>(index) + first;
  if (first + kCount <= count)
    return load_streaming(reinterpret_cast<const Indices*>(from), policy);
  Indices raw{};
  for (int j = 0; j < kCount; ++j)
    if (first + j < count) raw.element[j] = from[j];
  return raw;
}

/// The items that a thread of block `block` moves: vectors of kCount neighbouring items.
template <class Item, class Raw, int kCount, int kVectors>
struct ItemVectors {
  const ItemArgs& args;
  std::int64_t block;
  Vector<Raw, kCount> raw[kVectors];

  __device__ ItemVectors(const ItemArgs& call, std::int64_t number, const CachePolicy& policy)
      : args(call), block(number) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      raw[v] = load_indices<Raw, kCount>(args.index, first(v), args.count, policy);
  }

  __device__ std::int64_t first(int v) const {
    return ((block * kVectors + v) * blockDim.x + threadIdx.x) * kCount;
  }

  /// Whether the last index of each vector is at most `most` above the first one.
  [[nodiscard]] __device__ bool ends_within(Raw most) const {
    bool within = true;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      within = within && static_cast<Raw>(raw[v].element[kCount - 1] - raw[v].element[0]) <= most;
    return within;
  }

  /// All lanes of a warp call this: they exchange indices, and then items, so that kCount lanes
  /// load the items of neighbouring indices together. For sorted indices that takes fewer requests
  /// for each line of the source.
  __device__ void gather(const Bounds<Raw>& bounds, const Fill& fill) {
    Vector<Item, kCount> items[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kExchanged<Item>) warp_transpose(raw[v].element);
      std::int64_t position[kCount];
      bounds.positions(raw[v].element, position);
#pragma unroll
      for (int j = 0; j < kCount; ++j)
        items[v].element[j] = position[j] < 0 ? fill.word<Item>(0)
                                              : __ldg(reinterpret_cast<const Item*>(
                                                    args.source + position[j] * args.axis_stride));
    }
    // Stores only after all loads are in flight.
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kExchanged<Item>) warp_transpose(items[v].element);
      const std::int64_t at = first(v);
      Item* const to = reinterpret_cast<Item*>(args.out) + at;
      if (at + kCount <= args.count) {
        store_streaming(reinterpret_cast<Vector<Item, kCount>*>(to), items[v]);
        continue;
      }
      for (int j = 0; j < kCount; ++j)
        if (at + j < args.count) to[j] = items[v].element[j];
    }
  }
};

/// By persistent blocks, see WorkTiles. Each starts with two tiles, from `first` on; if
/// `first_done`, it has already gathered the first of them.
template <class Item, class Raw, int kVectors, int kThreadsOfBlock>
__device__ void gather_persistent(const ItemArgs& args, const Bounds<Raw>& bounds, const Fill& fill,
                                  const CachePolicy& policy, unsigned first, bool first_done,
                                  unsigned* counter) {
  constexpr int kCount = kVectorItems<Item>;
  constexpr int kWorkTile = kThreadsOfBlock * kVectors * kCount;
  __shared__ WorkTiles::Shared taken;
  WorkTiles work(counter, taken);
  const unsigned second = first + gridDim.x;
  unsigned tile = (first_done ? second : first) + blockIdx.x;
  bool counted = first_done;  // whether the next tile is from the counter
  while (std::int64_t{tile} * kWorkTile < args.count) {
    if (counted) work.request();
    ItemVectors<Item, Raw, kCount, kVectors>(args, tile, policy).gather(bounds, fill);
    const unsigned taken_tile = work.take();
    tile = second + (counted ? gridDim.x + taken_tile : blockIdx.x);
    counted = true;
  }
}

/// out[i] = source[index[i]]. Index and out are aligned to vectors.
template <class Item, class Raw, int kCount, int kVectors>
__global__ void gather_items_kernel(const __grid_constant__ ItemArgs args,
                                    const __grid_constant__ Bounds<Raw> bounds,
                                    const __grid_constant__ Fill fill) {
  wait_for_previous();
  const CachePolicy policy(args.evict_first);
  ItemVectors<Item, Raw, kCount, kVectors>(args, blockIdx.x, policy).gather(bounds, fill);
}

/// A few items of a dense source, one a thread. A launch loads its parameters by lines of 64 bytes;
/// those that all threads need are in the first 40 bytes.
template <class Item, class Raw>
__global__ void __launch_bounds__(kThreads)
    gather_items_small_kernel(const Raw* index, const Item* source, Item* out, unsigned count,
                              Raw last, const __grid_constant__ Bounds<Raw> bounds,
                              const __grid_constant__ Fill fill) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  wait_for_previous();
  if (i >= count) return;
  const Raw raw = index[i];
  if (raw <= last) {
    out[i] = __ldg(source + raw);
    return;
  }
  const std::int64_t position = bounds.position(raw);
  out[i] = position < 0 ? fill.word<Item>(0) : __ldg(source + position);
}

}  // namespace gpukern::gpu

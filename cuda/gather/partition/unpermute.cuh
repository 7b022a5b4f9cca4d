// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The last pass: brings the items of a tile back into the order of its indices.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/shared_copy.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/gather/fill.cuh"
#include "cuda/gather/partition/partition.cuh"
#include "cuda/gather/partition/position.cuh"

namespace gpukern::gpu {

template <class Item>
struct UnpermuteTile {
  static constexpr int kCount = sizeof(Item) <= 4 ? 4 : 2;  ///< items of a vector
  static constexpr int kSteps = kTile<sizeof(Item)> / (kPartitionThreads * kCount);
  static constexpr int kInFlight = 6;  ///< divides the 12 steps of both tile sizes
  static constexpr int kTogether = 2;  ///< of these, the vectors that are gathered together
  static_assert(kSteps % kInFlight == 0 && kInFlight % kTogether == 0);
  using Ranks = Vector<std::uint16_t, kCount>;
  using Items = Vector<Item, kCount>;

  /// Gathers the items that the sort has left out. The vectors are kPartitionThreads apart, from
  /// `vector` on.
  template <class Raw, int kVectors>
  static __device__ void gather_left_out(const Partition& call, const Bounds<Raw>& bounds,
                                         Item filling, std::int64_t vector, const Ranks* ranks,
                                         Items* items) {
    using Indices = Vector<Raw, kCount>;
    const auto* const from = reinterpret_cast<const Indices*>(call.index) + vector;
    const auto* const source = reinterpret_cast<const Item*>(call.source);
    Indices raw[kVectors];
#pragma unroll
    for (int k = 0; k < kVectors; ++k) raw[k] = from[k * kPartitionThreads];
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        if (ranks[k].element[j] != kDirectRank) continue;
        const std::int64_t position = position_of(bounds, raw[k].element[j]);
        items[k].element[j] = position < 0 ? filling : __ldg(source + position);
      }
  }
};

template <class Item, class Raw, int kUnit>
__global__ void __launch_bounds__(kPartitionThreads)
    partition_unpermute_kernel(const __grid_constant__ Partition call,
                               const __grid_constant__ Bounds<Raw> bounds,
                               const __grid_constant__ Fill fill) {
#if __CUDA_ARCH__ >= 900
  using Tile = UnpermuteTile<Item>;
  extern __shared__ __align__(128) std::byte dynamic[];
  __shared__ BulkBarrier barrier;
  wait_for_previous();
  launch_next();
  if (call.state->local) return;
  SharedCopy copy(barrier);
  const auto* const items = reinterpret_cast<const Item*>(dynamic);
  const Item filling = fill.word<Item>(0);
  const bool mixed = call.state->mixed;
  for (unsigned tile = blockIdx.x; tile < call.tiles; tile += gridDim.x) {
    const std::int64_t first = std::int64_t{tile} * (kTile<sizeof(Item)> / Tile::kCount);
    const unsigned units = call.starts[std::int64_t{tile} * call.starts_stride + call.buckets];
    copy.start(dynamic, call.items + tile * call.items_stride,
               static_cast<unsigned>(units * kUnit * sizeof(Item)));
    const auto* const from = reinterpret_cast<const typename Tile::Ranks*>(call.ranks) + first;
    auto* const to = reinterpret_cast<typename Tile::Items*>(call.out) + first;
    bool waited = false;
#pragma unroll 1
    for (int begin = 0; begin < Tile::kSteps; begin += Tile::kInFlight) {
      typename Tile::Ranks rank[Tile::kInFlight];
#pragma unroll
      for (int k = 0; k < Tile::kInFlight; ++k)
        rank[k] =
            load_streaming(from + (begin + k) * kPartitionThreads + threadIdx.x, CachePolicy(true));
      if (!waited) copy.wait();
      waited = true;
#pragma unroll
      for (int group = 0; group < Tile::kInFlight; group += Tile::kTogether) {
        typename Tile::Items unpermuted[Tile::kTogether];
#pragma unroll
        for (int k = 0; k < Tile::kTogether; ++k)
#pragma unroll
          for (int j = 0; j < Tile::kCount; ++j) {
            const unsigned at = rank[group + k].element[j];
            unpermuted[k].element[j] = at >= kDirectRank ? filling : items[at];
          }
        const std::int64_t vector = (begin + group) * kPartitionThreads + threadIdx.x;
        if (mixed)
          Tile::template gather_left_out<Raw, Tile::kTogether>(
              call, bounds, filling, first + vector, rank + group, unpermuted);
#pragma unroll
        for (int k = 0; k < Tile::kTogether; ++k)
          store_streaming(to + vector + k * kPartitionThreads, unpermuted[k]);
      }
    }
    __syncthreads();
  }
#endif
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdlib>

#include "cuda/common/vector_access.cuh"
#include "cuda/gather/bounds.cuh"
#include "cuda/gather/direct.cuh"

namespace gpukern::gpu {

struct ItemArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t axis_stride;
  std::int64_t count;
  bool source_stays;  ///< in the L2 cache, as much of it as fits: indices leave that first

  explicit ItemArgs(const DirectCall& call)
      : source(call.args.source),
        index(call.args.index),
        out(call.args.out),
        axis_stride(call.rows.axis_stride),
        count(call.rows.count),
        source_stays(call.tuning.source_stays(call.args.n * touched_bytes(call))) {}

  /// Of the source, for each of its items: of items far apart, a sector each.
  static std::int64_t touched_bytes(const DirectCall& call) {
    constexpr std::int64_t kSector = 32;
    return std::max(call.args.item, std::min(std::abs(call.rows.axis_stride), kSector));
  }
};

/// Whether lanes exchange indices. H200, 128 Mi sorted indices of 128 Mi items, in us: items of 2
/// bytes 268 against 250 without, of 1 byte 230 against 220, so not these. Equal indices of 4-byte
/// items 261 against 299; a 16 Mi subset 156 against 179, of 8-byte items 292 against 301.
template <class Item>
inline constexpr bool kExchanged = sizeof(Item) >= 4;

/// Whether index and out are aligned to vectors of kCount elements.
template <class Item, class Raw, int kCount>
bool aligned_to_vectors(const GatherArgs& args) {
  return alignment_of(args.index) >= std::int64_t{alignof(Vector<Raw, kCount>)} &&
         alignment_of(args.out) >= std::int64_t{alignof(Vector<Item, kCount>)};
}

/// Raw indices from `first` on; zeros, which every axis has, behind the end.
template <class Raw, int kCount>
__device__ Vector<Raw, kCount> load_indices(const std::byte* index, std::int64_t first,
                                            std::int64_t count, const StreamPolicy& policy) {
  using Indices = Vector<Raw, kCount>;
  const Raw* const from = reinterpret_cast<const Raw*>(index) + first;
  if (first + kCount <= count) return load_once(reinterpret_cast<const Indices*>(from), policy);
  Indices raw{};
  for (int j = 0; j < kCount; ++j)
    if (first + j < count) raw.element[j] = from[j];
  return raw;
}

/// What a thread of the block numbered `block` moves: vectors of kCount neighbouring items.
template <class Item, class Raw, int kCount, int kVectors>
struct ItemVectors {
  const ItemArgs& args;
  std::int64_t block;
  Vector<Raw, kCount> raw[kVectors];

  __device__ ItemVectors(const ItemArgs& call, std::int64_t number, const StreamPolicy& policy)
      : args(call), block(number) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      raw[v] = load_indices<Raw, kCount>(args.index, first(v), args.count, policy);
  }

  __device__ std::int64_t first(int v) const {
    return ((block * kVectors + v) * blockDim.x + threadIdx.x) * kCount;
  }

  /// Whether the last index of each vector is as the first one, or at most so much above.
  [[nodiscard]] __device__ bool ends_within(Raw most) const {
    bool within = true;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      within = within && static_cast<Raw>(raw[v].element[kCount - 1] - raw[v].element[0]) <= most;
    return within;
  }

  /// All lanes of a warp take part: they exchange indices, and items back, so that kCount lanes
  /// read the items of neighbouring indices at once. Where these rise in small steps, a line of the
  /// source is asked for by fewer requests.
  __device__ void gather(const Bounds<Raw>& bounds, const Fill& fill) {
    Vector<Item, kCount> items[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kExchanged<Item>) transpose(raw[v].element);
      std::int64_t position[kCount];
      bounds.positions(raw[v].element, position);
#pragma unroll
      for (int j = 0; j < kCount; ++j)
        items[v].element[j] = position[j] < 0 ? fill.chunk<Item>(0)
                                              : __ldg(reinterpret_cast<const Item*>(
                                                    args.source + position[j] * args.axis_stride));
    }
    // Only here, where all vectors are on their way.
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kExchanged<Item>) transpose(items[v].element);
      const std::int64_t at = first(v);
      Item* const to = reinterpret_cast<Item*>(args.out) + at;
      if (at + kCount <= args.count) {
        store_once(reinterpret_cast<Vector<Item, kCount>*>(to), items[v]);
        continue;
      }
      for (int j = 0; j < kCount; ++j)
        if (at + j < args.count) to[j] = items[v].element[j];
    }
  }
};

/// Blocks that stay take pieces in order from a counter: with a fixed share for each, those at work
/// drift far apart in the memory, which cost 10 percent of the bandwidth. Each has two pieces from
/// `first` on to begin with; one if it has `begun`, and gathered the other.
template <class Item, class Raw, int kVectors, int kThreadsOfBlock>
__device__ void gather_pieces(const ItemArgs& args, const Bounds<Raw>& bounds, const Fill& fill,
                              const StreamPolicy& policy, unsigned first, bool begun,
                              unsigned* counter) {
  constexpr int kCount = kVectorItems<Item>;
  constexpr int kPiece = kThreadsOfBlock * kVectors * kCount;
  __shared__ unsigned taken[2];
  const unsigned second = first + gridDim.x;
  unsigned piece = (begun ? second : first) + blockIdx.x;
  for (unsigned round = begun ? 1 : 0; std::int64_t{piece} * kPiece < args.count; ++round) {
    unsigned following = 0;  // asked for early, waited for late
    if (round > 0 && threadIdx.x == 0) following = atomicAdd(counter, 1);
    ItemVectors<Item, Raw, kCount, kVectors>(args, piece, policy).gather(bounds, fill);
    if (threadIdx.x == 0) taken[round % 2] = following;
    __syncthreads();
    piece = second + (round == 0 ? blockIdx.x : gridDim.x + taken[round % 2]);
  }
}

/// out[i] = source[index[i]]. Index and out are aligned to vectors.
template <class Item, class Raw, int kCount, int kVectors>
__global__ void gather_items_kernel(const __grid_constant__ ItemArgs args,
                                    const __grid_constant__ Bounds<Raw> bounds,
                                    const __grid_constant__ Fill fill) {
  wait_for_previous();
  const StreamPolicy policy(args.source_stays);
  ItemVectors<Item, Raw, kCount, kVectors>(args, blockIdx.x, policy).gather(bounds, fill);
}

/// Few items of a dense source, one a thread. A launch reads its parameters anew, by lines of 64
/// bytes; those that all threads need are the first 40 bytes.
template <class Item, class Raw>
__global__ void __launch_bounds__(kThreads)
    gather_few_kernel(const Raw* index, const Item* source, Item* out, unsigned count, Raw last,
                      const __grid_constant__ Bounds<Raw> bounds,
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
  out[i] = position < 0 ? fill.chunk<Item>(0) : __ldg(source + position);
}

}  // namespace gpukern::gpu

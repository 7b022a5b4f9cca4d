// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "gather_bounds.cuh"
#include "gather_direct.cuh"
#include "gather_vector.cuh"

namespace gpukern::gpu {

struct ItemArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t axis_stride;
  std::int64_t count;
  const unsigned* condition;  ///< NULL, or to be looked at on the device
};

/// Raw indices from `first` on; zeros, which every axis has, behind the end.
template <class Raw, int kCount>
__device__ Vector<Raw, kCount> load_indices(const std::byte* index, std::int64_t first,
                                            std::int64_t count) {
  using Indices = Vector<Raw, kCount>;
  const Raw* const from = reinterpret_cast<const Raw*>(index) + first;
  if (first + kCount <= count) return load_once(reinterpret_cast<const Indices*>(from));
  Indices raw{};
  for (int j = 0; j < kCount; ++j)
    if (first + j < count) raw.element[j] = from[j];
  return raw;
}

/// A thread moves kVectors vectors of kCount neighbouring items.
template <class Item, class Raw, int kCount, int kVectors>
__device__ void gather_vectors(const ItemArgs& args, const Bounds<Raw>& bounds, const Fill& fill,
                               std::int64_t block) {
  const std::int64_t first = (block * kVectors * blockDim.x + threadIdx.x) * kCount;
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * kCount;
  Vector<Raw, kCount> raw[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
    raw[v] = load_indices<Raw, kCount>(args.index, first + v * step, args.count);
  Vector<Item, kCount> items[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    std::int64_t position[kCount];
    bounds.positions(raw[v].element, position);
#pragma unroll
    for (int j = 0; j < kCount; ++j)
      items[v].element[j] =
          position[j] < 0
              ? fill.chunk<Item>(0)
              : __ldg(reinterpret_cast<const Item*>(args.source + position[j] * args.axis_stride));
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t at = first + v * step;
    Item* const to = reinterpret_cast<Item*>(args.out) + at;
    if (at + kCount <= args.count) {
      store_once(reinterpret_cast<Vector<Item, kCount>*>(to), items[v]);
      continue;
    }
    for (int j = 0; j < kCount; ++j)
      if (at + j < args.count) to[j] = items[v].element[j];
  }
}

/// out[i] = source[index[i]]. Index and out are aligned to vectors.
template <class Item, class Raw, int kCount, int kVectors>
__global__ void gather_items_kernel(const __grid_constant__ ItemArgs args,
                                    const __grid_constant__ Bounds<Raw> bounds,
                                    const __grid_constant__ Fill fill) {
  gather_vectors<Item, Raw, kCount, kVectors>(args, bounds, fill, blockIdx.x);
}

/// The same by blocks that go on until all is done, unless the condition is zero.
template <class Item, class Raw, int kCount, int kVectors>
__global__ void __launch_bounds__(kThreads, resident_blocks(6, kThreads))
    gather_items_if_kernel(const __grid_constant__ ItemArgs args,
                           const __grid_constant__ Bounds<Raw> bounds,
                           const __grid_constant__ Fill fill) {
  wait_for_previous();
  if (*args.condition == 0) return;
  const std::int64_t per_block = std::int64_t{blockDim.x} * kVectors * kCount;
  for (std::int64_t block = blockIdx.x; block * per_block < args.count; block += gridDim.x)
    gather_vectors<Item, Raw, kCount, kVectors>(args, bounds, fill, block);
}

}  // namespace gpukern::gpu

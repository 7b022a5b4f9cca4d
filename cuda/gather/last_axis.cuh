// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {

struct LastAxisArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t outer;
  std::int64_t outer_stride;
  std::int64_t axis_stride;
  std::int64_t count;
  std::int64_t tiles;  ///< blocks along the index
  std::int64_t outer_per_block;
  IndexType type;
  bool vectors;  ///< out's rows are aligned to vectors of items
};

/// out[o, i] = source[o, index[i]]. A block resolves a tile of the index once and gathers with it
/// from outer_per_block rows of the source, kUnroll at a time. Consecutive blocks read the same
/// rows.
template <class Item, int kCount, int kUnroll>
__global__ void gather_last_axis_kernel(const __grid_constant__ LastAxisArgs args,
                                        const __grid_constant__ Bounds<std::uint64_t> bounds,
                                        const __grid_constant__ Fill fill) {
  const std::int64_t group = blockIdx.x / args.tiles;
  const std::int64_t tile = (blockIdx.x - group * args.tiles) * blockDim.x * kCount;
  // A thread's items are neighbours for vector stores; else a block apart, so that warps store
  // whole lines.
  const std::int64_t first = tile + (args.vectors ? threadIdx.x * kCount : threadIdx.x);
  const std::int64_t apart = args.vectors ? 1 : blockDim.x;
  std::uint64_t raw[kCount];
  std::int64_t position[kCount];
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const std::int64_t i = first + j * apart;
    raw[j] = i < args.count ? load_index(args.index + i * args.type.bytes, args.type, true) : 0;
  }
  bounds.positions(raw, position);
  const std::int64_t begin = group * args.outer_per_block;
  const std::int64_t end =
      begin + args.outer_per_block < args.outer ? begin + args.outer_per_block : args.outer;
  for (std::int64_t o = begin; o < end; o += kUnroll) {
    Vector<Item, kCount> items[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      const std::byte* const row = args.source + (o + k < end ? o + k : o) * args.outer_stride;
#pragma unroll
      for (int j = 0; j < kCount; ++j)
        items[k].element[j] =
            position[j] < 0
                ? fill.word<Item>(0)
                : __ldg(reinterpret_cast<const Item*>(row + position[j] * args.axis_stride));
    }
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      if (o + k >= end) break;
      Item* const to = reinterpret_cast<Item*>(args.out) + (o + k) * args.count + first;
      if (args.vectors && first + kCount <= args.count) {
        store_streaming(reinterpret_cast<Vector<Item, kCount>*>(to), items[k]);
        continue;
      }
#pragma unroll
      for (int j = 0; j < kCount; ++j)
        if (first + j * apart < args.count) __stcs(to + j * apart, items[k].element[j]);
    }
  }
}

}  // namespace gpukern::gpu

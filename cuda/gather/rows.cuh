// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/common/vector_access.cuh"
#include "cuda/gather/bounds.cuh"
#include "cuda/gather/direct.cuh"

namespace gpukern::gpu {

struct RowArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t outer_stride;
  std::int64_t axis_stride;
  std::int64_t total;  ///< chunks in out
  Turn chunks;         ///< of a row
  Turn count;          ///< rows of an outer position
};

/// out[o, i] = source[o, index[i]], chunk by chunk: neighbouring threads move neighbouring chunks
/// of out, each thread kUnroll of them, a block apart. The block's first place is found by a
/// division, all others from it.
template <class Chunk, class Raw, int kUnroll>
__global__ void gather_rows_kernel(const __grid_constant__ RowArgs args,
                                   const __grid_constant__ Bounds<Raw> bounds,
                                   const __grid_constant__ Fill fill) {
  wait_for_previous();
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kUnroll * blockDim.x;
  const Turn::Place row = args.chunks.locate(block);
  const Turn::Place outer = args.count.locate(row.turn);
  const Raw* const index = reinterpret_cast<const Raw*>(args.index);
  std::int64_t offset[kUnroll];
  std::int64_t in_item[kUnroll];
  Raw raw[kUnroll];
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    const std::int64_t step = k * blockDim.x + threadIdx.x;
    const bool inside = block + step < args.total;
    const Turn::Place chunk = args.chunks.advance(row, step);
    const Turn::Place at = args.count.advance(outer, chunk.turn - row.turn);
    raw[k] = inside ? index[at.at] : Raw{0};
    in_item[k] = chunk.at * static_cast<std::int64_t>(sizeof(Chunk));
    offset[k] = (inside ? at.turn : 0) * args.outer_stride + in_item[k];
  }
  std::int64_t position[kUnroll];
  bounds.positions(raw, position);
  Chunk value[kUnroll];
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    const std::byte* from = args.source + (position[k] * args.axis_stride + offset[k]);
    if (position[k] < 0) from = fill.data + in_item[k];
    if (position[k] < 0 && fill.data == nullptr)
      value[k] = fill.chunk<Chunk>(in_item[k]);
    else
      value[k] = __ldg(reinterpret_cast<const Chunk*>(from));
  }
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    const std::int64_t t = block + k * blockDim.x + threadIdx.x;
    if (t < args.total) store_once(reinterpret_cast<Chunk*>(args.out) + t, value[k]);
  }
}

}  // namespace gpukern::gpu

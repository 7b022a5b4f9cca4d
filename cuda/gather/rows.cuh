// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {

struct RowArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t outer_stride;
  std::int64_t axis_stride;
  std::int64_t total;              ///< words in out
  FastDivmod<std::int64_t> words;  ///< of a row
  FastDivmod<std::int64_t> count;  ///< rows of an outer position
};

/// out[o, i] = source[o, index[i]], word by word: neighbouring threads move neighbouring words of
/// out, each thread kUnroll of them, a block apart. A division locates the first word of a block;
/// steps from there locate the others.
template <class W, class Raw, int kUnroll>
__global__ void gather_rows_kernel(const __grid_constant__ RowArgs args,
                                   const __grid_constant__ Bounds<Raw> bounds,
                                   const __grid_constant__ Fill fill) {
  wait_for_previous();
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kUnroll * blockDim.x;
  const Divmod<std::int64_t> row = args.words.divmod(block);
  const Divmod<std::int64_t> outer = args.count.divmod(row.quotient);
  const Raw* const index = reinterpret_cast<const Raw*>(args.index);
  std::int64_t offset[kUnroll];
  std::int64_t in_item[kUnroll];
  Raw raw[kUnroll];
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    const std::int64_t step = k * blockDim.x + threadIdx.x;
    const bool inside = block + step < args.total;
    const Divmod<std::int64_t> word = args.words.advance(row, step);
    const Divmod<std::int64_t> at = args.count.advance(outer, word.quotient - row.quotient);
    raw[k] = inside ? index[at.remainder] : Raw{0};
    in_item[k] = word.remainder * static_cast<std::int64_t>(sizeof(W));
    offset[k] = (inside ? at.quotient : 0) * args.outer_stride + in_item[k];
  }
  std::int64_t position[kUnroll];
  bounds.positions(raw, position);
  W value[kUnroll];
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    const std::byte* from = args.source + (position[k] * args.axis_stride + offset[k]);
    if (position[k] < 0) from = fill.data + in_item[k];
    if (position[k] < 0 && fill.data == nullptr)
      value[k] = fill.word<W>(in_item[k]);
    else
      value[k] = __ldg(reinterpret_cast<const W*>(from));
  }
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    const std::int64_t t = block + k * blockDim.x + threadIdx.x;
    if (t < args.total) store_streaming(reinterpret_cast<W*>(args.out) + t, value[k]);
  }
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The direct kernels of gather: each reads its index and its items where they lie.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/gather/fill.cuh"
#include "cuda/gather/tuning.hpp"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {

/// The common layout: index and out contiguous, items evenly apart in the source.
/// out[o, i] = source[o, index[i]] for `outer` times `count` items of GatherArgs::item bytes.
struct Rows {
  std::int64_t outer = 1;
  std::int64_t outer_stride = 0;
  std::int64_t count = 1;
  std::int64_t axis_stride = 0;
  std::int64_t width = 1;  ///< 1, 2, 4, 8 or 16: every source address and the item are multiples
};

struct DirectCall {
  const GatherArgs& args;
  const Rows& rows;
  const Fill& fill;
  const GatherTuning& tuning;
  cudaStream_t stream;
};

/// How far apart the items lie on average, in bytes, if they are spread over the whole axis.
inline double bytes_per_index(const DirectCall& call) {
  return static_cast<double>(call.args.n) * std::abs(static_cast<double>(call.rows.axis_stride)) /
         static_cast<double>(call.rows.count);
}

/// Scratch memory; empty where there is none: too little is left, or (a value error) a device
/// without memory pools is captured.
Buffer scratch_or_none(Backend& backend, std::int64_t bytes, cudaStream_t stream);

/// Items of rows.width bytes, outer is 1, from a long source, by a sample of the indices. Declines
/// where that does not pay, or without scratch memory.
bool gather_rising(Backend& backend, const DirectCall& call);

/// Items of rows.width bytes, outer is 1: vectors of indices in, vectors of items out. Declines
/// where index or out are not aligned to vectors.
bool gather_items(const DirectCall& call);

/// Items of rows.width bytes on a contiguous inner axis: gathered from rows in shared memory.
/// Declines rows that are too long, too few or hardly asked for.
bool gather_inner_staged(const DirectCall& call);

/// Items of rows.width bytes on an inner axis: an index is read once for several outer positions.
/// Declines where that is no gain.
bool gather_inner_items(const DirectCall& call);

/// Items of any length, moved by chunks of rows.width bytes, one a thread: fewer than 2^31 in all.
void gather_few_rows(const DirectCall& call);

/// The same of any number of chunks, several a thread.
void gather_rows(const DirectCall& call);

/// Items of any length and alignment: aligned words in, through shared memory, aligned words out.
void gather_staged_rows(const DirectCall& call);

/// Any strides, any alignment, an axis of any number of dimensions.
void gather_strided(const GatherArgs& args, const Fill& fill, std::int64_t width,
                    cudaStream_t stream);

/// As many items as a 16-byte store takes, four at most: more would spread a warp's index loads.
template <class Item>
inline constexpr int kVectorItems = sizeof(Item) < 4 ? 4 : 16 / static_cast<int>(sizeof(Item));

template <class Visit>
void visit_index_width(std::int32_t bytes, const Visit& visit) {
  switch (bytes) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Copies of the columns of an update in words.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/scatter/rows.cuh"

namespace gpukern::gpu {

/// The columns divided into the widest words that divide and align all of them.
struct ScatterWords {
  std::int64_t bytes;
  Loop<2> columns;
};

inline ScatterWords scatter_words(const ScatterArgs& args) {
  ScatterWords words{kWordBytes, args.columns};
  while (words.bytes > 1 && (args.item % words.bytes != 0 || !is_aligned(args, words.bytes)))
    words.bytes /= 2;
  words.columns.push(args.item / words.bytes, {words.bytes, words.bytes});
  words.columns.coalesce();
  return words;
}

/// Threads that copy one update.
inline int word_lanes(std::int64_t words) {
  return static_cast<int>(
      std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(words)), 32));
}

template <class W>
__device__ void copy_words(const std::byte* from, std::byte* to, const RowColumns<1>& words,
                           std::int64_t lane, std::int64_t lanes) {
  for (std::int64_t w = lane; w < words.count; w += lanes)
    *reinterpret_cast<W*>(to + words.target_offset(w)) =
        *reinterpret_cast<const W*>(from + words.value_offset(w));
}

}  // namespace gpukern::gpu

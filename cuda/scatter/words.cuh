// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Copies of the columns of an update in words.
#pragma once

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

template <class W>
__device__ void copy_words(const std::byte* from, std::byte* to, const RowColumns<1>& words,
                           std::int64_t lane, std::int64_t lanes) {
  for (std::int64_t w = words.begin() + lane; w < words.end(); w += lanes)
    *reinterpret_cast<W*>(to + words.target_offset(w)) =
        *reinterpret_cast<const W*>(from + words.value_offset(w));
}

}  // namespace gpukern::gpu

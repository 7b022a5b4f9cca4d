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
  constexpr int kInFlight = 4;
  const auto load = [&](std::int64_t w) {
    return *reinterpret_cast<const W*>(from + words.value_offset(w));
  };
  const auto store = [&](std::int64_t w, const W& word) {
    *reinterpret_cast<W*>(to + words.target_offset(w)) = word;
  };
  const std::int64_t end = words.end();
  std::int64_t w = words.begin() + lane;
  // Stores might change what later loads read, so the compiler would not overlap these.
  for (; w + (kInFlight - 1) * lanes < end; w += kInFlight * lanes) {
    W word[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) word[k] = load(w + k * lanes);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) store(w + k * lanes, word[k]);
  }
  for (; w < end; w += lanes) store(w, load(w));
}

}  // namespace gpukern::gpu

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

/// Words of a row that a thread has in flight.
inline constexpr int kWordsInFlight = 4;

/// By a group of threads.
template <class W, int kCount>
__device__ void copy_words(const std::byte* from, std::byte* to,
                           const UpdateColumns<kCount, true>& words, const ThreadGroups& threads) {
  words.visit(threads, [&](const ThreadColumns<kCount, true>& own) {
    // Stores might change what later loads read, so the compiler would not overlap these.
    W word[kCount];
    own.load_words(from, word);
    own.store_words(to, word);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Combines the values of sorted updates that moved with their keys.
#pragma once

#include "cuda/common/load_together.cuh"
#include "cuda/common/reduction.cuh"
#include "cuda/scatter/blocks.cuh"
#include "cuda/scatter/slices.cuh"

namespace gpukern::gpu {

/// Positions of a chunk: its keys, values and elements fill a part of the shared memory.
template <class T>
constexpr int kPositions = sizeof(T) == 8 ? 1024 : 2048;

/// A chunk of the sorted updates, in shared memory.
template <class T>
struct ItemChunk {
  using A = Accumulator<T>;
  using Keys = Chunk<std::uint32_t, kPositions<T>, kThreads>;
  static constexpr int kTogether = (kPositions<T> + Keys::kReach) / kThreads;

  Keys keys;
  Carried<T> value[kPositions<T> + Keys::kReach];
  alignas(A) std::byte memory[kPositions<T> * sizeof(A)];

  /// Combines the values of the blocks that start in it. All threads of a block call this, and
  /// synchronize before they call it again.
  template <class Reducer>
  __device__ void reduce(const SortedKeys<std::uint32_t>& sorted, std::int64_t begin,
                         const Carried<T>* values, const SpreadElements& elements, bool aligned,
                         const Reducer& reduction, const LongKeys& long_keys) {
    A* const own = reinterpret_cast<A*>(memory);  // written and read by the same thread
    const auto number =
        static_cast<int>(min(sorted.end - begin, std::int64_t{kPositions<T> + Keys::kReach}));
    load_together<kThreads, kTogether>(
        number, [&](int i) { return values[begin + i]; },
        [&](int i, Carried<T> loaded) { value[i] = loaded; });
    keys.load(sorted, begin);
    __syncthreads();
    // All loads from the target before the first use.
#pragma unroll
    for (int e = 0; e < Keys::kEach; ++e) {
      const int b = e * kThreads + threadIdx.x;
      if (b < keys.number && keys.is_first[b])
        own[b] = widened(load_element<T>(elements.at(keys.key[keys.start[b]]), aligned));
    }
#pragma unroll 1
    for (int b = threadIdx.x; b < keys.number; b += kThreads) {
      const ValueBlock block = keys[b];
      const A before = block.first ? own[b] : carried_value<T>(value[block.begin]);
      const A sum = combine_carried<T>(reduction, before, value,
                                       block.first ? block.begin : block.begin + 1, block.end);
      if (block.first && block.is_last) {
        store_element(elements.at(keys.key[block.begin]),
                      finished<T>(reduction.reduce, sum, block.end - block.begin + 1), aligned);
        continue;
      }
      long_keys.note(keys, b, begin);
      long_keys.block<A>(block.first, begin + block.begin, 1)[0] = sum;
    }
  }
};

}  // namespace gpukern::gpu

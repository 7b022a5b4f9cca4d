// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Where the blocks of values start in a chunk of the sorted updates.
#pragma once

#include <cub/block/block_scan.cuh>

#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

/// The position of the first of the sorted keys that is not less than `key`, or for kAfter greater.
template <bool kAfter, class Key>
__device__ std::int64_t bound(const Key* keys, std::int64_t begin, std::int64_t end, Key key) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    const bool before = kAfter ? keys[middle] <= key : keys[middle] < key;
    if (before)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

enum Start : std::uint8_t { kNoStart, kFirstBlock, kLaterBlock };

/// The chunk that a thread block works on: its positions and as many after it as a block of values
/// that starts in it may reach.
template <class Key, int kPositions, int kBlockThreads>
struct Chunk {
  static constexpr int kReach = static_cast<int>(kBlockValues);
  static constexpr int kEach = kPositions / kBlockThreads;
  static_assert(kEach * kBlockThreads == kPositions);
  using Scan = cub::BlockScan<std::int64_t, kBlockThreads>;

  Key key[kPositions + kReach];
  std::uint8_t start[kPositions];
  std::int64_t first_head;
  typename Scan::TempStorage scan;

  /// Loads the keys and finds the blocks. All threads call this, and synchronize after it.
  __device__ void load(const SortedKeys<Key>& sorted, std::int64_t begin) {
    for (int i = threadIdx.x; i < kPositions + kReach; i += kBlockThreads)
      key[i] = begin + i < sorted.count ? sorted.key[begin + i] : sorted.none;
    __syncthreads();
    if (threadIdx.x == 0) {
      const bool continues = begin > 0 && key[0] != sorted.none && sorted.key[begin - 1] == key[0];
      first_head = continues ? bound<false>(sorted.key, 0, begin, key[0]) : begin;
    }
    __syncthreads();
    const int mine = static_cast<int>(threadIdx.x) * kEach;
    // The last position in or before this thread's at which a key begins.
    std::int64_t head[kEach];
    std::int64_t last = first_head;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int i = mine + e;
      if (i > 0 && key[i] != key[i - 1]) last = begin + i;
      head[e] = last;
    }
    std::int64_t before;
    Scan(scan).ExclusiveScan(last, before, first_head, Latest{});
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const std::int64_t from = head[e] > before ? head[e] : before;
      const std::int64_t since = begin + mine + e - from;
      const bool later = since >= kReach - 1 && (since - (kReach - 1)) % kReach == 0;
      start[mine + e] = key[mine + e] == sorted.none ? kNoStart
                        : since == 0                 ? kFirstBlock
                        : later                      ? kLaterBlock
                                                     : kNoStart;
    }
  }

 private:
  struct Latest {
    __device__ std::int64_t operator()(std::int64_t a, std::int64_t b) const {
      return a > b ? a : b;
    }
  };
};

}  // namespace gpukern::gpu

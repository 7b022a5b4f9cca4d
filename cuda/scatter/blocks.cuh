// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The blocks of values that start in a chunk of the sorted updates.
#pragma once

#include <cstring>
#include <cub/block/block_scan.cuh>

#include "cuda/common/load_together.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

/// The position of the first of the sorted keys [begin, end) that is not less than `key`. All
/// threads of a warp call this; each step compares a key per thread.
template <class Key>
__device__ std::int64_t lower_bound_of_warp(const Key* keys, std::int64_t begin, std::int64_t end,
                                            Key key) {
  const auto lane = static_cast<std::int64_t>(threadIdx.x % 32);
  while (begin < end) {
    const std::int64_t step = (end - begin + 31) / 32;
    const std::int64_t at = begin + lane * step;
    const bool less = at < end && keys[at] < key;
    const int number = __popc(__ballot_sync(~0U, less));
    if (number == 0) return begin;
    const std::int64_t last_less = begin + (number - 1) * step;
    end = min(end, last_less + step);
    begin = last_less + 1;
  }
  return begin;
}

/// A block of values: positions [begin, end) in the chunk.
struct ValueBlock {
  int begin;
  int end;
  bool first;    ///< of its key, and then combined with the element
  bool is_last;  ///< of its key
};

/// The chunk that a thread block works on: its positions, and as many after it as a block that
/// starts in it may reach.
template <class Key, int kPositions, int kBlockThreads>
struct Chunk {
  static constexpr int kReach = static_cast<int>(kBlockValues);
  static constexpr int kEach = kPositions / kBlockThreads;
  static_assert(kEach * kBlockThreads == kPositions && kBlockThreads % 32 == 0);
  using Scan = cub::BlockScan<int, kBlockThreads>;

  alignas(kEach * sizeof(Key)) Key key[kPositions + kReach];
  int number;                           ///< of blocks
  std::uint16_t start[kPositions + 1];  ///< of each block, and the end of the last one
  bool is_first[kPositions + 1];
  std::int64_t first_head;  ///< the global position where the chunk's first key begins
  typename Scan::TempStorage scan;

  [[nodiscard]] __device__ ValueBlock operator[](int block) const {
    return {start[block], start[block + 1], is_first[block], is_first[block + 1]};
  }

  /// The global position of the first update of a block's key.
  [[nodiscard]] __device__ std::int64_t head_of(int block, std::int64_t begin) const {
    while (block >= 0 && !is_first[block]) --block;
    return block >= 0 ? begin + start[block] : first_head;
  }

  /// Loads the keys and finds the blocks. All threads call this, and synchronize after it.
  __device__ void load(const SortedKeys<Key>& sorted, std::int64_t begin) {
    constexpr int kTogether = (kPositions + kReach) / kBlockThreads;
    load_together<kBlockThreads, kTogether>(
        kPositions + kReach,
        [&](int i) { return begin + i < sorted.end ? sorted.key[begin + i] : sorted.none; },
        [&](int i, Key loaded) { key[i] = loaded; });
    __syncthreads();
    if (threadIdx.x < 32) find_first_head(sorted, begin);
    __syncthreads();
    const int mine = static_cast<int>(threadIdx.x) * kEach;
    const unsigned starts = find_starts(begin, mine, sorted.none);
    __syncthreads();
    int rank;
    int all;
    Scan(scan).ExclusiveSum(__popc(starts), rank, all);
    for (unsigned rest = starts; rest != 0; rest &= rest - 1) {
      const int i = mine + __ffs(static_cast<int>(rest)) - 1;
      start[rank] = static_cast<std::uint16_t>(i);
      is_first[rank++] = i == 0 ? first_head == begin : key[i] != key[i - 1];
    }
    if (threadIdx.x == 0) number = all;
    __syncthreads();
    if (threadIdx.x < 32 && all > 0) close(all);
  }

 private:
  struct Latest {
    __device__ int operator()(int a, int b) const { return max(a, b); }
  };

  /// By one warp. Most keys begin shortly before the chunk.
  __device__ void find_first_head(const SortedKeys<Key>& sorted, std::int64_t begin) {
    std::int64_t head = begin;
    const bool continues =
        begin > sorted.begin && key[0] != sorted.none && sorted.key[begin - 1] == key[0];
    if (continues) {
      const std::int64_t at = begin - 2 - static_cast<std::int64_t>(threadIdx.x);
      const unsigned equal = __ballot_sync(~0U, at >= sorted.begin && sorted.key[at] == key[0]);
      head = begin - 1 - (__ffs(static_cast<int>(~equal)) - 1);
      if (equal == ~0U) head = lower_bound_of_warp(sorted.key, sorted.begin, begin, key[0]);
    }
    if (threadIdx.x == 0) first_head = head;
  }

  /// One bit for each of this thread's positions at which a block starts.
  __device__ unsigned find_starts(std::int64_t begin, int mine, Key none) {
    Key own[kEach];
    std::memcpy(own, __builtin_assume_aligned(key + mine, sizeof own), sizeof own);
    // The position in the chunk where the first key begins, modulo the length of blocks.
    const std::int64_t before_chunk = begin - first_head;
    const int first = before_chunk == 0 ? 0 : -static_cast<int>(before_chunk % kReach) - kReach;
    int head[kEach];  // the last position so far at which a key begins
    int last = first;
    Key previous = mine > 0 ? key[mine - 1] : own[0];
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      if (own[e] != previous) last = mine + e;
      previous = own[e];
      head[e] = last;
    }
    int before;
    Scan(scan).ExclusiveScan(last, before, first, Latest{});
    unsigned starts = 0;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int since = mine + e - max(head[e], before);
      // The first block has one value less: it begins with the element.
      const bool is_start = since == 0 || (since + 1) % kReach == 0;
      if (is_start && own[e] != none) starts |= 1U << e;
    }
    return starts;
  }

  /// By one warp: ends the last block, by its length or where its key ends.
  __device__ void close(int all) {
    const int begin = start[all - 1];
    const int most = begin + kReach - (is_first[all - 1] ? 1 : 0);
    int end = begin;
    for (unsigned equal = ~0U; equal == ~0U && end < most;) {
      const int at = end + static_cast<int>(threadIdx.x);
      equal = __ballot_sync(~0U, at < most && key[at] == key[begin]);
      end += equal == ~0U ? 32 : __ffs(static_cast<int>(~equal)) - 1;
    }
    if (threadIdx.x != 0) return;
    start[all] = static_cast<std::uint16_t>(end);
    is_first[all] = key[end] != key[begin];
  }
};

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The numbers that decide how fast gather is, and why they are what they are.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

// What a thread keeps in flight. Registers hold it, so the compiler has to know it, and it is the
// same for every GPU. 32 to 64 bytes a thread, at 1,024 threads or more a multiprocessor, are twice
// the some 24 KiB that its share of the memory's bandwidth and latency asks for: once for the
// indices, once for the items that they lead to.

/// Vectors of neighbouring items.
inline constexpr int kItemVectors = 2;
/// Chunks of rows, of 16 bytes where alignment allows.
inline constexpr int kRowChunks = 4;
/// Words of 16 bytes that pass through shared memory, which holds them instead of registers: of
/// short rows, whose places take as much shared memory as they do, and of long ones.
inline constexpr int kStagedWordsShort = 2;
inline constexpr int kStagedWordsLong = 8;
/// Outer positions of the inner-axis kernel, a vector of items from each.
inline constexpr int kInnerRows = 4;

/// What the choice between direct and partitioned gather knows of a GPU. Rates are per nanosecond.
struct PartitionTuning {
  double direct_items = 0;    ///< direct gather from beyond the L2 cache; 0: never partition
  double source_bytes = 0;    ///< every byte of the source is read once, at this rate
  double staged_items_4 = 0;  ///< items of 4 bytes at most, behind the reading of the source
  double staged_items_8 = 0;  ///< items of 8 bytes
  double cached_items = 0;
  double fixed = 0;                 ///< nanoseconds that the passes cost in any case
  std::int64_t staged_buckets = 0;  ///< at most; with more, runs are too short to stage
  std::int64_t source_from = 0;     ///< bytes; from the L2 cache, direct access is fast
  std::int64_t count_from = 0;      ///< indices; below, the sample and idle passes cost too much
  std::int64_t window = 0;          ///< bytes: neighbouring indices this close are fast anyway
  std::int64_t cached_hot = 0;      ///< bytes of slices that blocks use at the same time
  std::int64_t cached_slice = 0;    ///< bytes of a slice at most
};

/// What may differ from GPU to GPU.
struct GatherTuning {
  int compute_capability;  ///< 90 is 9.0: for this one and later ones
  int threads;             ///< in a block, where nothing else is said
  int item_threads;        ///< of the kernel for vectors of items

  // Fewer items than `few_items` have a thread each, so that they meet more multiprocessors; fewer
  // than `few_sparse_items` where the source has `sparse_bytes` for an index, for the order in
  // which DRAM is asked. Threads hold one vector of two items (of 16 bytes: one) below
  // `pairs_below`, and where the source has `pairs_bytes` for an index.
  std::int64_t few_items;
  std::int64_t few_sparse_items;
  double sparse_bytes;
  std::int64_t pairs_below;
  double pairs_bytes;
  int pair_threads;

  // From so many indices on, where the source has `sparse_bytes` for each and less than
  // `rising_below`, a sample tells whether they rise, by so many bytes a step at least: see
  // sorted_sparse.cuh.
  std::int64_t rising_from;
  double rising_below;
  std::int64_t rising_step;

  // Sources of so many bytes are worth it that indices, which are read once, leave the L2 cache
  // before them; see StreamPolicy. Shorter ones stay there anyway, of longer ones too little does.
  std::int64_t stays_from;
  std::int64_t stays_to;

  // Up to so many chunks of rows, all in all, have a thread each, also those of rows that would
  // pass through shared memory; by the width of a chunk: 1, 2, 4, 8 and 16.
  std::int64_t few_chunks[5];

  // Rows pass through shared memory from so many bytes on, by the same widths.
  std::int64_t staged_from[5];
  std::int64_t staged_long;  ///< from so many bytes on, kStagedWordsLong
  int staged_threads;        ///< in a block; with the words that is its tile

  // Inner axes. Rows of such lengths in bytes are gathered from shared memory, if there are as many
  // rows as blocks are wanted, and no more than so many bytes of a row for each index.
  std::int64_t inner_staged_from;
  std::int64_t inner_staged_to;
  std::int64_t inner_staged_sparse;
  std::int64_t inner_staged_blocks;
  std::int64_t inner_staged_bytes;         ///< of shared memory in a block, or one row
  std::int64_t inner_staged_narrow_bytes;  ///< the same, for items below 4 bytes
  std::int64_t inner_staged_long;          ///< rows beyond so many bytes have more threads
  int inner_staged_long_threads;

  // Else a block reads the index once for `inner_per_block` rows, from so many rows and so many
  // indices on, up to so many positions for each index and so many bytes in a row. Else every index
  // is gathered on its own.
  std::int64_t inner_per_block;
  std::int64_t inner_from;
  std::int64_t inner_count_from;
  std::int64_t inner_sparse;
  std::int64_t inner_row_to;

  PartitionTuning partition;

  [[nodiscard]] constexpr bool source_stays(std::int64_t bytes) const {
    return bytes >= stays_from && bytes < stays_to;
  }
};

/// The tuning of the current device.
const GatherTuning& gather_tuning();

}  // namespace gpukern::gpu

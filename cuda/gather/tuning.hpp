// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Tuning parameters of gather. Their values are in tuning.cpp, the measurements in
// benchmarks/notes/gather.md.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

// The bytes that a thread has in flight are the same for every GPU, since registers hold them. 32
// to 64 bytes, at 1,024 threads or more per multiprocessor, are twice the 24 KiB that its share of
// the memory's bandwidth and latency requires: once for the indices and once for the items.

inline constexpr int kItemVectors = 2;       ///< vectors of neighbouring items
inline constexpr int kRowWords = 4;          ///< words of rows
inline constexpr int kSharedWordsShort = 2;  ///< words through shared memory, short rows
inline constexpr int kSharedWordsLong = 8;   ///< words through shared memory, long rows
inline constexpr int kTileInFlight = 8;      ///< items of strided operands, for fewer divisions
inline constexpr int kLastAxisSharedThreads = 512;        ///< of a block, at most
inline constexpr int kLastAxisSharedLargeThreads = 1024;  ///< of large rows
inline constexpr int kLastAxisRows = 4;  ///< outer positions, a vector of items from each

// The kernel for sorted indices far apart (#sorted-indices-far-apart).

inline constexpr int kSampleRuns = 256;           ///< runs of indices in the sample, one a thread
inline constexpr int kSampleRun = 4;              ///< neighbouring indices of a run
inline constexpr int kSortedSparseThreads = 128;  ///< of a block
inline constexpr int kSortedSparseBlocks = 2;     ///< on a multiprocessor
inline constexpr int kSortedSparseItems = 4;      ///< of a thread

/// The model that chooses between a direct and a partitioned gather. Rates are per nanosecond:
/// Gitem/s and GB/s.
struct PartitionTuning {
  double direct_items = 0;          ///< direct, source beyond the L2 cache; 0: never partition
  double source_bytes = 0;          ///< every byte of the source is read once
  double shared_items_4 = 0;        ///< slices in shared memory, items of up to 4 bytes
  double shared_items_8 = 0;        ///< slices in shared memory, items of 8 bytes
  double cached_items_4 = 0;        ///< slices in the L2 cache, items of 4 bytes
  double cached_items_8 = 0;        ///< slices in the L2 cache, items of 8 bytes
  double fixed = 0;                 ///< nanoseconds of the passes in any case
  double margin = 1;                ///< a factor of their time: some indices take them longer
  std::int64_t shared_buckets = 0;  ///< at most; with more, runs are too short
  std::int64_t source_from = 0;     ///< bytes; direct access is fast from the L2 cache
  std::int64_t l2_held = 0;         ///< bytes that the L2 cache holds of what direct access reads
  std::int64_t count_from = 0;      ///< indices; below, the sample and idle passes cost too much
  std::int64_t cached_hot = 0;      ///< bytes of slices in use at the same time
  std::int64_t cached_slice = 0;    ///< bytes of a slice at most
};

/// Parameters that may differ between GPUs. "_from" is inclusive, and so is "_to" of rows and last
/// axes.
struct GatherTuning {
  int compute_capability;  ///< 90 is 9.0: for this one and later ones
  int threads;             ///< of a block, if nothing else is said

  // Items.
  int item_threads;                    ///< of a block of the vector kernel
  int pair_threads;                    ///< of a block of the pair kernel
  std::int64_t items_small_to;         ///< below that many items: one a thread
  std::int64_t items_small_sparse_to;  ///< the same, from sparse_bytes on
  double sparse_bytes;                 ///< bytes of the source for each index
  std::int64_t pairs_to;               ///< below that many items: two a thread
  double pairs_sparse_bytes;           ///< bytes of the source for each index: two a thread

  // Sorted items far apart.
  std::int64_t sorted_sparse_from;  ///< indices
  double sorted_sparse_to;          ///< exclusive: bytes of the source for each index
  std::int64_t sorted_sparse_step;  ///< bytes from item to item, at least

  // Sources of that many bytes: indices leave the L2 cache first, see CachePolicy.
  std::int64_t evict_first_from;
  std::int64_t evict_first_to;  ///< exclusive

  // Rows, by the width of a word: 1, 2, 4, 8 and 16 bytes.
  std::int64_t rows_small_to[5];  ///< words in out: one a thread
  std::int64_t shared_from[5];    ///< bytes of a row: through shared memory
  std::int64_t shared_long;       ///< bytes of a row, from which kSharedWordsLong
  int shared_threads;             ///< of a block; with its words, that is its tile

  // Last axes, rows of the source in shared memory.
  std::int64_t last_axis_shared_from;          ///< bytes of a row
  std::int64_t last_axis_shared_to;            ///< bytes of a row, as far as they fit
  std::int64_t last_axis_of_held;              ///< items of a row for each of these, at most
  std::int64_t last_axis_shared_sparse;        ///< bytes of a row for each index, at most
  std::int64_t last_axis_shared_blocks;        ///< blocks and rows, at least
  std::int64_t last_axis_shared_bytes;         ///< shared memory of a block, or one row
  std::int64_t last_axis_shared_narrow_bytes;  ///< the same, items below 4 bytes
  std::int64_t last_axis_shared_long;          ///< bytes of these, above which more threads
  int last_axis_shared_long_threads;
  std::int64_t last_axis_shared_large;  ///< the same: a row is large

  // Last axes, an index loaded once for several rows.
  std::int64_t last_axis_per_block;   ///< rows
  std::int64_t last_axis_outer_from;  ///< rows
  std::int64_t last_axis_count_from;  ///< indices
  std::int64_t last_axis_sparse;      ///< positions for each index, at most
  std::int64_t last_axis_row_to;      ///< bytes of a row

  PartitionTuning partition;

  [[nodiscard]] constexpr bool evict_first(std::int64_t source_bytes) const {
    return source_bytes >= evict_first_from && source_bytes < evict_first_to;
  }
};

/// The tuning of the current device.
const GatherTuning& gather_tuning();

}  // namespace gpukern::gpu

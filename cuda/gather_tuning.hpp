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
/// Shifted words of 16 bytes. Each takes two loads.
inline constexpr int kShiftedWords = 2;
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
  int direct_blocks = 0;            ///< of the direct kernel that waits for the sample's word
  std::int64_t window = 0;          ///< bytes: neighbouring indices this close are fast anyway
  std::int64_t cached_hot = 0;      ///< bytes of slices that blocks use at the same time
  std::int64_t cached_slice = 0;    ///< bytes of a slice at most
};

/// What may differ from GPU to GPU.
struct GatherTuning {
  int compute_capability;  ///< 90 is 9.0: for this one and later ones
  int threads;             ///< in a block

  // Rows of `shift_from` bytes and more whose addresses are only multiples of `shift_width` or less
  // are moved by shifted words.
  std::int64_t shift_from;
  std::int64_t shift_width;

  // The inner-axis kernel serves this many outer positions with one reading of the index; it is
  // used from so many outer positions and so many indices on.
  std::int64_t inner_per_block;
  std::int64_t inner_from;
  std::int64_t inner_count_from;

  PartitionTuning partition;
};

/// The tuning of the current device.
const GatherTuning& gather_tuning();

}  // namespace gpukern::gpu

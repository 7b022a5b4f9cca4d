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
};

/// The tuning of the current device.
const GatherTuning& gather_tuning();

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// THE numbers that saxpy's speed depends on, by compute capability. Another GPU is another line.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>

namespace gpukern::gpu {

/// A pack is 16 bytes of an operand. Sizes are bytes of one operand.
struct SaxpyTuning {
  int capability;           ///< 10 * major + minor; of this one up to the next line's
  int threads;              ///< of a block; a multiple of 32, from 96 on
  int packs;                ///< in flight a thread, of x and of y: 1, 2 or 4
  std::int64_t packs_from;  ///< smaller arrays: one pack a thread, so that every SM has work
  int shifted_packs;        ///< as packs, for operands that do not lie on packs together: 1, 2 or 4
  std::int64_t bulk_from;   ///< from here on, bulk copies; for 9.0 and later only
  int bulk_threads;         ///< of a block of theirs; a multiple of 32, from 96 on
  int bulk_packs;           ///< of its tile, a thread: 32 bytes each in flight
};

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// One pack a thread fills the GPU once at 2048 threads an SM: 16 B x 2048 x 132 SMs = 4.1 MiB on
// Hopper, 3.4 MiB on an A100. Larger arrays come in several waves, and more packs a thread hide
// the start of each.
inline constexpr SaxpyTuning kSaxpyTunings[] = {
    // Turing: 1024 threads an SM, so each must have more in flight.
    {75, 256, 4, 1 * kMiB, 2, kNever, 0, 0},
    {80, 256, 4, 4 * kMiB, 2, kNever, 0, 0},
    // Hopper: 8 blocks an SM with tiles of 2 x 4 KiB keep 64 KiB in flight.
    {90, 256, 2, 4 * kMiB, 2, 32 * kMiB, 256, 1},
};

/// The line for code compiled for a compute capability.
constexpr const SaxpyTuning& saxpy_tuning(int capability) {
  const SaxpyTuning* tuning = kSaxpyTunings;
  for (const SaxpyTuning* line = tuning; line != std::end(kSaxpyTunings); ++line)
    if (line->capability <= capability) tuning = line;
  return *tuning;
}

}  // namespace gpukern::gpu

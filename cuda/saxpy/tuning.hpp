// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Tuning parameters of saxpy. Measured: NVIDIA H200 (9.0) only.
// A "#name" is the section of benchmarks/notes/saxpy.md that holds the measurement.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

// A thread processes one word of 16 bytes of x, of y and of out, on every GPU: registers hold
// words, so their number must be a compile-time constant (#aligned-operands-float32).

/// Parameters that may differ between GPUs.
struct SaxpyTuning {
  int compute_capability;  ///< 90 is 9.0: for this one and later ones
  int threads;             ///< of a block; whole warps
  std::int64_t small_to;   ///< inclusive: elements of up to 4 bytes have a thread each
};

/// Threads of a block for a few elements, a constant of the kernel (#few-elements).
inline constexpr int kSaxpySmallThreads = 256;

/// Threads of a block of saxpy_many, and the words of 16 bytes that each of them computes: a tile
/// of 16 KiB, for whose search its entry hides in the loads of other tiles (#lists-of-arrays).
inline constexpr int kSaxpyManyThreads = 256;
inline constexpr int kSaxpyManyWords = 4;

inline constexpr SaxpyTuning kSaxpyTunings[] = {
    {
        .compute_capability = 0,
        .threads = 128,        // #aligned-operands-float32
        .small_to = 64 << 10,  // #few-elements
    },
};

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// THE numbers that saxpy's speed depends on. Another GPU is another line of the table.
// What was measured: benchmarks/notes/saxpy.md.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

// A thread takes one pack, 16 bytes of x, of y and of out, on every GPU: registers hold packs, so
// the compiler has to know their number. All threads of an SM together have 64 KiB of loads in
// flight on an H200 (2048 threads; 30 registers or fewer, so none is kept out), more than the
// 48 KiB that CUB tunes for. 2 or 4 packs a thread cost 0.4-1.7% of the bandwidth of large arrays
// and 2-10% of the time for 32 Ki floats, which they spread over fewer SMs.

/// What may differ from GPU to GPU.
struct SaxpyTuning {
  int compute_capability;  ///< 90 is 9.0: for this one and later ones
  int threads;             ///< in a block; whole warps

  std::int64_t few;  ///< so many elements of 4 bytes or less at most have a thread each
};

/// Threads of a block for few elements. The compiler knows them: 1 Ki floats 13.5 GB/s, else 13.1.
inline constexpr int kSaxpyFewThreads = 256;

inline constexpr SaxpyTuning kSaxpyTunings[] = {
    // H200, 320 M floats, of cub::DeviceTransform: 128 threads 0.997-0.998, 256 threads 0.995, 512
    // threads 0.993-0.994. From 1 Ki to 16 Mi 128 and 256 differ by less than 1%.
    // Few: 1 Ki floats 13.5 GB/s against 12.7 by packs, 4 Ki 52.3 against 49.8, 16 Ki 204 against
    // 196, 64 Ki 469 against 464, 256 Ki 1410 against 1440.
    {.compute_capability = 0, .threads = 128, .few = 64 << 10},
};

}  // namespace gpukern::gpu

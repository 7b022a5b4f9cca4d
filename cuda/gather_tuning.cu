// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include <atomic>
#include <iterator>

#include "check.hpp"
#include "gather_tuning.hpp"

namespace gpukern::gpu {
namespace {

constexpr GatherTuning kFirst{
    .compute_capability = 0,
    .threads = 256,         // five blocks or more at 48 registers a thread
    .staged_from = 16,      // below, a word of out has more than two rows
    .staged_width = 4,      // 8-byte chunks keep up with the memory, 4-byte ones do not
    .staged_threads = 128,  // 8 KiB a tile, 96 KiB a multiprocessor
    // H200, f32: a quarter of the positions, 840 GB/s written singly, 250 to 860 otherwise.
    .inner_sparse = 2,
    .inner_staged_from = 64,         // below, the words at both ends of a row are most of it
    .inner_staged_to = 32 << 10,     // a block has no more than 64 KiB of shared memory
    .inner_staged_blocks = 264,      // two for each of 132 multiprocessors
    .inner_staged_bytes = 32 << 10,  // H200: 1996 GB/s; with 64 KiB 1831, with 96 KiB 1549
    .inner_staged_threads = 512,
    .inner_per_block = 16,    // reading the index costs a sixteenth of a read for each item
    .inner_from = 4,          // a group of kInnerRows
    .inner_count_from = 128,  // below, half of a block would idle
    // 32 MiB of rows at work fit the L2. H200, f32, random: 1 MiB 541 GB/s against 546 singly;
    // 16 MiB 162 against 484. Sorted: 2035 against 1008.
    .inner_row_to = 2 << 20,
};

/// Shared memory of 100 KiB a block and more.
constexpr GatherTuning large_shared_memory() {
  GatherTuning tuning = kFirst;
  tuning.compute_capability = 80;
  // H200, f32, random: 1 KiB to 64 KiB 1700 to 2000 GB/s written; singly 670 to 1030.
  tuning.inner_staged_to = 64 << 10;
  return tuning;
}

/// By rising compute capability.
constexpr GatherTuning kTunings[] = {kFirst, large_shared_memory()};

const GatherTuning& tuning_of(int device) {
  int major = 0;
  int minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
        "cudaDeviceGetAttribute");
  const auto* tuning = std::end(kTunings) - 1;
  while (tuning != std::begin(kTunings) && tuning->compute_capability > 10 * major + minor)
    --tuning;
  return *tuning;
}

}  // namespace

const GatherTuning& gather_tuning() {
  constexpr int kRemembered = 64;
  static std::atomic<const GatherTuning*> remembered[kRemembered];
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  if (device >= kRemembered) return tuning_of(device);
  const GatherTuning* tuning = remembered[device].load(std::memory_order_relaxed);
  if (tuning == nullptr) {
    tuning = &tuning_of(device);
    remembered[device].store(tuning, std::memory_order_relaxed);
  }
  return *tuning;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include <atomic>
#include <iterator>

#include "check.hpp"
#include "gather_tuning.hpp"

namespace gpukern::gpu {
namespace {

/// By rising compute capability.
constexpr GatherTuning kTunings[] = {
    {
        .compute_capability = 0,
        .threads = 256,           // five blocks or more at 48 registers a thread
        .shift_from = 48,         // below, the accesses to the rows bind, not their width
        .shift_width = 4,         // 8-byte chunks keep up with the memory, 4-byte ones hardly
        .inner_per_block = 16,    // reading the index costs a sixteenth of a read for each item
        .inner_from = 4,          // a group of kInnerRows
        .inner_count_from = 128,  // below, half of a block would idle
        .partition = {},          // needs the bulk copies and 227 KiB of shared memory of 9.0
    },
    {
        .compute_capability = 90,
        .threads = 256,
        .shift_from = 48,
        .shift_width = 4,
        .inner_per_block = 16,
        .inner_from = 4,
        .inner_count_from = 128,
        .partition =
            {
                .direct_items = 37,     // any direct kernel, 128 Mi of 4 bytes
                .source_bytes = 4000,   // a stream
                .staged_items_4 = 112,  // 24 bytes an item at 4 TB/s are 167; short runs cost
                .staged_items_8 = 80,
                .cached_items = 66,  // the L2 cache answers 110 to 140 sectors a nanosecond
                .fixed = 30000,
                .staged_buckets = 5500,     // runs of 9 items; 18 are a third faster
                .source_from = 44 << 20,    // three quarters of 60 MB
                .count_from = 32 << 20,     // 0.2 ms or more: the sample costs 0.016
                .direct_blocks = 132 * 96,  // 6 fit; these many idle for 8 us, and balance well
                .window = 16 << 20,         // a quarter of 60 MB, whose halves mirror each other
                .cached_hot = 25 << 20,     // 12 MB and 50 MB are up to a quarter slower
                .cached_slice = 8 << 20,
            },
    },
};

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

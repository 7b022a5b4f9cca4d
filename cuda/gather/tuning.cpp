// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Measured: NVIDIA H200 (9.0) only. Earlier GPUs use its values, without the features that they
// lack.
// A "#name" is the section of benchmarks/notes/gather.md that holds the measurement.

#include "cuda/gather/tuning.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cuda/runtime/device_facts.hpp"

namespace gpukern::gpu {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

constexpr GatherTuning kFirst{
    .compute_capability = 0,
    .threads = 256,                    // five blocks a multiprocessor at 48 registers
    .item_threads = 128,               // #items
    .pair_threads = 256,               // #items
    .items_small_to = 384 << 10,       // #items
    .items_small_sparse_to = 2 << 20,  // #items
    .sparse_bytes = 128,               // #sorted-indices-far-apart
    .pairs_to = 8 << 20,               // #items
    .pairs_sparse_bytes = 64,          // #items
    .sorted_sparse_from = kNever,      // not measured before 9.0
    .sorted_sparse_to = 1 << 10,       // #sorted-indices-far-apart
    .sorted_sparse_step = 160,         // #sorted-indices-far-apart
    .evict_first_from = 0,             // not measured before 9.0
    .evict_first_to = kNever,          // not measured before 9.0
    .rows_small_to = {640 << 10, 640 << 10, 3 << 19, 4 << 20, 2 << 20},  // #rows
    .shared_from = {7, 14, 28, 96, kNever},                              // #rows
    .shared_long = 64,                                                   // #rows
    .shared_threads = 128,                                               // #rows
    .last_axis_shared_from = 32,                                         // #last-axis
    .last_axis_shared_to = 32 << 10,            // 64 KiB of shared memory a block
    .last_axis_of_held = 1,                     // not measured before 9.0
    .last_axis_shared_sparse = 16,              // #last-axis
    .last_axis_shared_blocks = 264,             // two on each of 132
    .last_axis_shared_bytes = 16 << 10,         // #last-axis
    .last_axis_shared_narrow_bytes = 32 << 10,  // #last-axis
    .last_axis_shared_long = 32 << 10,          // #last-axis
    .last_axis_shared_long_threads = 512,       // #last-axis
    .last_axis_shared_large = 112 << 10,        // #last-axis
    .last_axis_per_block = 8,                   // #last-axis
    .last_axis_outer_from = 4,                  // kLastAxisRows
    .last_axis_count_from = 256,                // #last-axis
    .last_axis_sparse = 2,                      // #last-axis
    .last_axis_row_to = 2 << 20,                // #last-axis
    .partition = {},                            // not before 9.0
};

/// 100 KiB of shared memory a block, and more.
constexpr GatherTuning large_shared_memory() {
  GatherTuning tuning = kFirst;
  tuning.compute_capability = 80;
  tuning.last_axis_shared_to = 64 << 10;  // #last-axis
  return tuning;
}

/// Programmatic launches, bulk copies and 227 KiB of shared memory a block.
constexpr GatherTuning hopper() {
  GatherTuning tuning = large_shared_memory();
  tuning.compute_capability = 90;
  tuning.last_axis_shared_to = 224 << 10;               // #last-axis
  tuning.last_axis_of_held = 2;                         // #last-axis
  tuning.sorted_sparse_from = 8 << 20;                  // #sorted-indices-far-apart
  tuning.pairs_sparse_bytes = tuning.sorted_sparse_to;  // #sorted-indices-far-apart
  tuning.evict_first_from = 8 << 20;                    // #l2-eviction-priority
  tuning.evict_first_to = std::int64_t{16} << 30;       // #l2-eviction-priority
  tuning.partition = {
      .direct_items = 37,       // #direct-gather
      .source_bytes = 4000,     // a stream
      .shared_items_4 = 112,    // #partitioned-gather
      .shared_items_8 = 80,     // #partitioned-gather
      .cached_items_4 = 85,     // #slices-in-the-l2-cache
      .cached_items_8 = 67,     // #slices-in-the-l2-cache
      .fixed = 30000,           // #direct-or-partitioned
      .margin = 1.05,           // #what-the-sample-looks-for
      .shared_buckets = 5500,   // #slices-in-the-l2-cache
      .source_from = 44 << 20,  // three quarters of the L2 cache of 60 MB
      .l2_held = 32 << 20,      // #what-the-sample-looks-for
      .count_from = 32 << 20,   // #direct-or-partitioned
      .cached_hot = 16 << 20,   // #slices-in-the-l2-cache
      .cached_slice = 8 << 20,  // #slices-in-the-l2-cache
  };
  return tuning;
}

/// In ascending order of compute capability.
constexpr GatherTuning kTunings[] = {kFirst, large_shared_memory(), hopper()};
static_assert(std::ranges::all_of(kTunings, [](const GatherTuning& tuning) {
  return std::max(tuning.threads, tuning.last_axis_shared_long_threads) <= kLastAxisSharedThreads;
}));

}  // namespace

const GatherTuning& gather_tuning() {
  return line_for(kTunings, device_facts().compute_capability);
}

}  // namespace gpukern::gpu

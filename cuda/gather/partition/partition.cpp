// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/partition/partition.hpp"

#include <algorithm>

#include "cuda/common/arithmetic.hpp"
#include "cuda/gather/partition/config.hpp"
#include "cuda/gather/partition/partition.cuh"
#include "cuda/runtime/device_facts.hpp"

namespace gpukern::gpu {
namespace {

bool serves(const GatherProblem& problem) {
  const GatherArgs& args = problem.args;
  return args.item <= 8 && problem.rows.axis_stride == args.item && args.index_type.bytes >= 4 &&
         alignment_of(args.source) == 16 && alignment_of(args.index) == 16 &&
         alignment_of(args.out) == 16;
}

/// Whether the device runs the passes: with 227 KiB of shared memory per block, and code for
/// compute capability 9.0 or later. (PTX for an earlier one, compiled when it is loaded, has empty
/// kernels; 12.0 has less memory.)
bool has_partition_kernels() {
  const DeviceFacts facts = device_facts();
  return facts.overlaps_kernels &&
         facts.shared_bytes >= kPartitionSharedBytes + kDeclaredSharedBytes;
}

/// Whether tiles with that many buckets fit the shared memory of the sort and the unpermutation.
bool fits(const PartitionConfig& config, std::int64_t item) {
  const std::int64_t tile = tile_items(item);
  const std::int64_t block = sort_shared_bytes(tile, config.buckets, config.capacity, config.unit);
  return config.capacity < kDirectRank && config.capacity * item <= kPartitionSharedBytes &&
         block * (kSortMaxThreads / sort_threads(tile)) <= kPartitionSharedBytes;
}

PartitionConfig shared_config(const GatherArgs& args, int unit) {
  PartitionConfig config{.unit = unit, .shift = args.item <= 4 ? 14 : 13};
  config.buckets = ceil_divide(args.n, std::int64_t{3} << config.shift);
  config.capacity = ceil_divide(tile_items(args.item) + (unit - 1) * config.buckets, 128) * 128;
  return config;
}

/// The slice size at which the slices in use at the same time fill `cached_hot`: blocks take the
/// buckets in order, so the more tiles a bucket has, the fewer buckets are in use.
PartitionConfig cached_config(const GatherProblem& problem, std::int64_t tiles) {
  const std::int64_t item = problem.args.item;
  const std::int64_t blocks =
      std::int64_t{device_facts().multiprocessors} * fetch_cached_blocks(item);
  const std::int64_t tiles_in_use = blocks * (kFetchCachedThreads / 32) * kFetchCachedTiles;
  const PartitionTuning& tuning = problem.tuning.partition;
  const double hot =
      static_cast<double>(tuning.cached_hot * tiles) / static_cast<double>(tiles_in_use);
  PartitionConfig config{.unit = 1, .capacity = tile_items(item)};
  const double largest = std::min(hot, static_cast<double>(tuning.cached_slice));
  while (static_cast<double>(item << (config.shift + 1)) <= largest) ++config.shift;
  // Few enough buckets for the counters, and most runs long enough.
  constexpr std::int64_t kMaxBuckets = 4096;
  while (ceil_divide(problem.args.n, std::int64_t{1} << config.shift) > kMaxBuckets) ++config.shift;
  config.buckets = ceil_divide(problem.args.n, std::int64_t{1} << config.shift);
  return config;
}

/// No buckets if the passes cannot serve the call.
PartitionConfig feasible_config(const GatherProblem& problem, std::int64_t tiles) {
  const GatherArgs& args = problem.args;
  for (const int unit : {4, 2}) {
    const PartitionConfig config = shared_config(args, unit);
    const bool compiled = args.item <= 2 ? unit == 4 : args.item == 4 || unit == 2;
    if (compiled && config.buckets <= problem.tuning.partition.shared_buckets &&
        fits(config, args.item))
      return config;
  }
  const bool wide_index = args.index_type.bytes == 8;
  if (args.item < 4 || (!wide_index && args.n > std::int64_t{1} << 31)) return {};
  const PartitionConfig config = cached_config(problem, tiles);
  return config.shift <= 32 && fits(config, args.item) ? config : PartitionConfig{};
}

/// Nanoseconds that the passes take: they read all of the source, whatever the indices are.
double partitioned_time(const GatherProblem& problem, const PartitionConfig& config) {
  const PartitionTuning& tuning = problem.tuning.partition;
  const bool short_items = problem.args.item <= 4;
  const double shared = short_items ? tuning.shared_items_4 : tuning.shared_items_8;
  const double cached = short_items ? tuning.cached_items_4 : tuning.cached_items_8;
  const double items = config.shared_slices() ? shared : cached;
  const auto source_bytes = static_cast<double>(problem.args.n * problem.args.item);
  return tuning.margin * (tuning.fixed + source_bytes / tuning.source_bytes +
                          static_cast<double>(problem.rows.count) / items);
}

bool pays(const GatherProblem& problem, const PartitionConfig& config) {
  const PartitionTuning& tuning = problem.tuning.partition;
  return problem.args.n * problem.args.item >= tuning.source_from &&
         problem.rows.count >= tuning.count_from &&
         partitioned_time(problem, config) <
             static_cast<double>(problem.rows.count) / tuning.direct_items;
}

}  // namespace

PartitionConfig partition_config(const GatherProblem& problem) {
  const std::int64_t tiles =
      std::min(problem.rows.count / tile_items(problem.args.item), kMaxTiles);
  if (problem.tuning.partition.direct_items == 0 || tiles == 0 || !serves(problem)) return {};
  PartitionConfig config = feasible_config(problem, tiles);
  config.tiles = tiles;
  const bool forced = problem.args.path == GPUKERN_GATHER_PARTITIONED;
  const bool chosen = config.buckets > 0 && (forced || pays(problem, config));
  return chosen && has_partition_kernels() ? config : PartitionConfig{};
}

SampleModel sample_model(const GatherProblem& problem, const PartitionConfig& config) {
  constexpr int kGranuleBytes = 64;  // that DRAM reads at least
  const PartitionTuning& tuning = problem.tuning.partition;
  const GatherArgs& args = problem.args;
  const double streamed =
      static_cast<double>(args.item + args.index_type.bytes) / tuning.source_bytes;
  const double granule = kGranuleBytes / tuning.source_bytes;
  constexpr double kForced = -1e9;
  const double passes =
      args.path == GPUKERN_GATHER_PARTITIONED
          ? kForced
          : partitioned_time(problem, config) / static_cast<double>(problem.rows.count);
  return {.streamed = static_cast<float>(streamed),
          .granule = static_cast<float>(granule),
          .far = static_cast<float>(1 / tuning.direct_items - streamed - granule),
          .cached = static_cast<float>(tuning.l2_held / kGranuleBytes),
          .passes = static_cast<float>(passes)};
}

bool is_partitioned(const GatherProblem& problem) { return partition_config(problem).buckets > 0; }

}  // namespace gpukern::gpu

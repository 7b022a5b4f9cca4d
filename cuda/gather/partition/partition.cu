// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/gather/partition/launch.cuh"
#include "cuda/gather/partition/partition.hpp"

namespace gpukern::gpu {
namespace {

bool serves(const DirectCall& call) {
  const GatherArgs& args = call.args;
  return call.rows.outer == 1 && call.rows.width == args.item && args.item <= 8 &&
         call.rows.axis_stride == args.item && args.index_type.bytes >= 4 &&
         alignment_of(args.source) == 16 && alignment_of(args.index) == 16 &&
         alignment_of(args.out) == 16;
}

/// Whether the sort and the restoring of tiles with so many buckets find room in shared memory.
bool fits(const PartitionPlan& plan, std::int64_t item) {
  const std::int64_t tile = tile_items(item);
  const std::int64_t block = sort_shared_bytes(tile, plan.buckets, plan.capacity, plan.unit);
  return plan.capacity < kNoPlace && plan.capacity * item <= kPartitionSharedBytes &&
         block * (kSortMostThreads / sort_threads(tile)) <= kPartitionSharedBytes;
}

PartitionPlan staged_plan(const DirectCall& call, int unit) {
  PartitionPlan plan{.unit = unit, .shift = call.args.item <= 4 ? 14 : 13};
  plan.buckets = ceil_divide(call.args.n, std::int64_t{3} << plan.shift);
  plan.capacity = ceil_divide(tile_items(call.args.item) + (unit - 1) * plan.buckets, 128) * 128;
  return plan;
}

/// Slices so large that those in use at a time fill `cached_hot`: blocks take the buckets in order,
/// so the more tiles a bucket has, the fewer buckets are in use.
PartitionPlan cached_plan(const DirectCall& call, std::int64_t tiles) {
  const std::int64_t item = call.args.item;
  const std::int64_t blocks =
      std::int64_t{device_facts().multiprocessors} * fetch_cached_blocks(item);
  const std::int64_t tiles_in_use = blocks * (kFetchCachedThreads / 32) * kFetchCachedTiles;
  const PartitionTuning& tuning = call.tuning.partition;
  const double hot =
      static_cast<double>(tuning.cached_hot * tiles) / static_cast<double>(tiles_in_use);
  PartitionPlan plan{.unit = 1, .capacity = tile_items(item)};
  while (item << (plan.shift + 1) <= std::min<double>(hot, tuning.cached_slice)) ++plan.shift;
  // Few enough buckets for the counters, and runs that are not all too short.
  constexpr std::int64_t kMostBuckets = 4096;
  while (ceil_divide(call.args.n, std::int64_t{1} << plan.shift) > kMostBuckets) ++plan.shift;
  plan.buckets = ceil_divide(call.args.n, std::int64_t{1} << plan.shift);
  return plan;
}

/// The shape of the passes; no buckets if there is none for the call.
PartitionPlan make_plan(const DirectCall& call, std::int64_t tiles) {
  const std::int64_t item = call.args.item;
  for (const int unit : {4, 2}) {
    const PartitionPlan plan = staged_plan(call, unit);
    const bool compiled = item <= 2 ? unit == 4 : item == 4 || unit == 2;
    if (compiled && plan.buckets <= call.tuning.partition.staged_buckets && fits(plan, item))
      return plan;
  }
  const bool wide_index = call.args.index_type.bytes == 8;
  if (item < 4 || (!wide_index && call.args.n > std::int64_t{1} << 31)) return {};
  const PartitionPlan plan = cached_plan(call, tiles);
  return plan.shift <= 32 && fits(plan, item) ? plan : PartitionPlan{};
}

/// Nanoseconds, by a model of rates.
double partitioned_time(const DirectCall& call, const PartitionPlan& plan) {
  const PartitionTuning& tuning = call.tuning.partition;
  const double staged_items = call.args.item <= 4 ? tuning.staged_items_4 : tuning.staged_items_8;
  const double items = plan.staged() ? staged_items : tuning.cached_items;
  return tuning.fixed + static_cast<double>(call.args.n * call.args.item) / tuning.source_bytes +
         static_cast<double>(call.rows.count) / items;
}

bool pays(const DirectCall& call, const PartitionPlan& plan) {
  const PartitionTuning& tuning = call.tuning.partition;
  return call.args.n * call.args.item >= tuning.source_from &&
         call.rows.count >= tuning.count_from &&
         partitioned_time(call, plan) < static_cast<double>(call.rows.count) / tuning.direct_items;
}

std::int64_t whole_tiles(const DirectCall& call) {
  return std::min(call.rows.count / tile_items(call.args.item), kMostTiles);
}

/// The passes for the tiles of a call; no buckets where it is to be gathered directly.
PartitionPlan chosen_plan(const DirectCall& call, std::int64_t tiles) {
  if (call.tuning.partition.direct_items == 0 || tiles == 0 || !serves(call)) return {};
  const PartitionPlan plan = make_plan(call, tiles);
  if (plan.buckets == 0 || (call.args.path != GPUKERN_GATHER_PARTITIONED && !pays(call, plan)))
    return {};
  return partition_kernels_present() ? plan : PartitionPlan{};
}

}  // namespace

bool is_partitioned(const DirectCall& call) {
  return chosen_plan(call, whole_tiles(call)).buckets > 0;
}

bool gather_partitioned(Backend& backend, const DirectCall& call) {
  const std::int64_t tiles = whole_tiles(call);
  const PartitionPlan plan = chosen_plan(call, tiles);
  return plan.buckets > 0 && run_partition(backend, call, plan, tiles);
}

}  // namespace gpukern::gpu

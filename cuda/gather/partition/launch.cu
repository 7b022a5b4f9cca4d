// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <limits>

#include "cuda/common/scratch_layout.hpp"
#include "cuda/gather/partition/config.hpp"
#include "cuda/gather/partition/direct.cuh"
#include "cuda/gather/partition/fetch.cuh"
#include "cuda/gather/partition/partition.hpp"
#include "cuda/gather/partition/sample.cuh"
#include "cuda/gather/partition/sort.cuh"
#include "cuda/gather/partition/unpermute.cuh"

namespace gpukern::gpu {
namespace {

/// Assigns the scratch memory.
void lay_out(ScratchLayout& layout, Partition& partition, const PartitionConfig& config,
             std::int64_t item) {
  const std::int64_t tile = tile_items(item);
  const std::int64_t tiles = config.tiles;
  partition.state = layout.take<PartitionState>(1);
  partition.samples = layout.take<SampleList>(SampleCounts::kRuns * kSampleBlocks);
  partition.heavy_of = layout.take<unsigned>(config.buckets);
  partition.extra_parts = layout.take<ExtraPart>(config.buckets);
  partition.starts = layout.take<std::uint16_t>(tiles * partition.starts_stride);
  partition.ranks = layout.take<std::uint16_t>(tiles * tile);
  // Until the last pass, out serves as scratch memory where it is large enough.
  partition.offsets_stride = config.capacity * config.offset_bytes();
  const bool in_out = config.shared_slices() ? partition.offsets_stride <= tile * item
                                             : partition.offsets_stride == tile * item;
  partition.offsets =
      in_out ? partition.out : layout.take<std::byte>(tiles * partition.offsets_stride);
  partition.items = partition.out;
  partition.items_stride = tile * item;
  if (config.shared_slices()) {
    partition.items_stride = config.capacity * item;
    partition.items = layout.take<std::byte>(tiles * partition.items_stride);
  }
}

Partition make_partition(const GatherArgs& args, const PartitionConfig& config) {
  constexpr std::int64_t kSectorBytes = 32;
  const auto buckets = static_cast<unsigned>(config.buckets);
  const std::int64_t heavy = 4 * (tile_items(args.item) / config.unit / config.buckets + 1);
  constexpr std::int64_t kMax = std::numeric_limits<unsigned>::max();
  return {.source = args.source,
          .index = args.index,
          .out = args.out,
          .n = args.n,
          .tiles = static_cast<unsigned>(config.tiles),
          .buckets = buckets,
          .shift = config.shift,
          .capacity = static_cast<unsigned>(config.capacity),
          .starts_stride = round_up(buckets + 1, 2),
          .sector_shift = std::countr_zero(static_cast<std::uint64_t>(kSectorBytes / args.item)),
          .heavy = static_cast<unsigned>(config.shared_slices() ? heavy : kMax),
          .heavy_units = static_cast<unsigned>(std::min(heavy * config.tiles, kMax))};
}

template <class Raw>
void launch_sample(const Partition& partition, const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const std::int64_t count = partition.tiles * tile_items(args.item);
  launch(partition_sample_kernel<Raw>,
         Grid{SampleCounts::kRuns * kSampleBlocks, kSampleThreads, 0, true}, call.stream, partition,
         bounds_of<Raw>(args), count);
  launch(partition_sample_count_kernel, Grid{SampleCounts::kRuns, 32 * kSampleBlocks, 0, true},
         call.stream, partition, count);
}

/// The sample of the indices, and the direct gather if it says so. Else that gathers only what does
/// not fill a tile, and the passes do the work.
template <class Item, class Raw>
void launch_direct(const Partition& partition, const GatherLaunch& call) {
  launch_sample<Raw>(partition, call);
  launch(
      partition_direct_kernel<Item, Raw>,
      Grid{std::int64_t{device_facts().multiprocessors} * kDirectBlocks, kDirectThreads, 0, true},
      call.stream, ItemArgs(call.problem), bounds_of<Raw>(call.problem.args), call.fill,
      sample_model(call.problem, partition_config(call.problem)), partition.tiles, partition.state);
}

template <class Item, class Raw, class Position, class Shape>
void launch_sort(const Partition& partition, const GatherLaunch& call) {
  launch_direct<Item, Raw>(partition, call);
  using Tile = SortTile<kTile<sizeof(Item)>, Raw, Position, Shape>;
  constexpr int kBlocks = kSortMaxThreads / Tile::kThreads;  // on a multiprocessor
  const std::int64_t shared =
      sort_shared_bytes(kTile<sizeof(Item)>, partition.buckets, partition.capacity, Shape::kUnit);
  // Not a programmatic launch: as blocks of the direct gather end, those of the sort would come to
  // other multiprocessors, and the fetch after them would take longer. Measured:
  // benchmarks/notes/gather.md#blocks-that-drift-apart.
  launch(partition_sort_kernel<kTile<sizeof(Item)>, Raw, Position, Shape>,
         Grid{std::int64_t{device_facts().multiprocessors} * kBlocks, Tile::kThreads,
              static_cast<std::size_t>(shared)},
         call.stream, partition, bounds_of<Raw>(call.problem.args));
}

template <class Item, int kUnit>
void launch_unpermute(const Partition& partition, const GatherLaunch& call) {
  const Grid grid{device_facts().multiprocessors, kPartitionThreads,
                  partition.capacity * sizeof(Item), true};
  const auto start = [&]<class Raw>(Raw /*type*/) {
    launch(partition_unpermute_kernel<Item, Raw, kUnit>, grid, call.stream, partition,
           bounds_of<Raw>(call.problem.args), call.fill);
  };
  if (call.problem.args.index_type.bytes == 4)
    start(std::uint32_t{});
  else
    start(std::uint64_t{});
}

template <class Item, int kUnit>
void launch_shared_slices(const Partition& partition, const GatherLaunch& call) {
  using Shape = SharedSlices<kUnit>;
  if (call.problem.args.index_type.bytes == 4)
    launch_sort<Item, std::uint32_t, std::int32_t, Shape>(partition, call);
  else
    launch_sort<Item, std::uint64_t, std::int32_t, Shape>(partition, call);
  const std::size_t slice = (std::size_t{3} << partition.shift) * sizeof(Item);
  launch(partition_fetch_shared_kernel<Item, kUnit>,
         Grid{device_facts().multiprocessors, kPartitionThreads, slice, true}, call.stream,
         partition);
  launch_unpermute<Item, kUnit>(partition, call);
}

template <class Item>
void launch_cached_slices(const Partition& partition, const GatherLaunch& call) {
  if (call.problem.args.index_type.bytes == 4)
    launch_sort<Item, std::uint32_t, std::int32_t, CachedSlices>(partition, call);
  else if (call.problem.args.n <= std::int64_t{1} << 31)
    launch_sort<Item, std::uint64_t, std::int32_t, CachedSlices>(partition, call);
  else
    launch_sort<Item, std::uint64_t, std::int64_t, CachedSlices>(partition, call);
  // Not a programmatic launch: the sort's shared memory must be free to serve as L1 cache.
  launch(partition_fetch_cached_kernel<Item>,
         Grid{std::int64_t{device_facts().multiprocessors} * FetchCached<Item>::kBlocks,
              kFetchCachedThreads},
         call.stream, partition);
  launch_unpermute<Item, 1>(partition, call);
}

void launch_passes(const Partition& partition, const GatherLaunch& call, int unit) {
  switch (call.problem.width) {
    case 1:
      return launch_shared_slices<std::uint8_t, 4>(partition, call);
    case 2:
      return launch_shared_slices<std::uint16_t, 4>(partition, call);
    case 4:
      if (unit == 4) return launch_shared_slices<std::uint32_t, 4>(partition, call);
      if (unit == 2) return launch_shared_slices<std::uint32_t, 2>(partition, call);
      return launch_cached_slices<std::uint32_t>(partition, call);
    default:
      if (unit == 2) return launch_shared_slices<std::uint64_t, 2>(partition, call);
      return launch_cached_slices<std::uint64_t>(partition, call);
  }
}

}  // namespace

std::int64_t partition_scratch_bytes(const GatherProblem& problem) {
  const PartitionConfig config = partition_config(problem);
  Partition partition = make_partition(problem.args, config);
  ScratchLayout layout;
  lay_out(layout, partition, config, problem.args.item);
  return layout.bytes();
}

void run_partitioned(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const PartitionConfig config = partition_config(call.problem);
  Partition partition = make_partition(args, config);
  ScratchLayout layout(call.scratch);
  lay_out(layout, partition, config, args.item);
  launch_passes(partition, call, config.unit);
}

}  // namespace gpukern::gpu

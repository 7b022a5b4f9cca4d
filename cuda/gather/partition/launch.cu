// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>

#include "cuda/gather/partition/direct.cuh"
#include "cuda/gather/partition/fetch.cuh"
#include "cuda/gather/partition/launch.cuh"
#include "cuda/gather/partition/sample.cuh"
#include "cuda/gather/partition/sort.cuh"
#include "cuda/gather/partition/unpermute.cuh"

namespace gpukern::gpu {
namespace {

/// Cuts one allocation into aligned pieces: first measures, then hands out.
class Layout {
 public:
  explicit Layout(std::byte* memory = nullptr) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t count) {
    std::byte* const at = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += ceil_divide(count * static_cast<std::int64_t>(sizeof(T)), 256) * 256;
    return reinterpret_cast<T*>(at);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

/// Hands out the scratch memory.
void lay_out(Layout& layout, Partition& partition, const PartitionPlan& plan, std::int64_t item,
             std::int64_t tiles) {
  const std::int64_t tile = tile_items(item);
  partition.state = layout.take<PartitionState>(1);
  partition.heavy_of = layout.take<unsigned>(plan.buckets);
  partition.extra_parts = layout.take<ExtraPart>(plan.buckets);
  partition.starts = layout.take<std::uint16_t>(tiles * partition.starts_stride);
  partition.places = layout.take<std::uint16_t>(tiles * tile);
  // Until the last pass, out serves as scratch memory where it is large enough.
  partition.offsets_stride = plan.capacity * plan.offset_bytes();
  const bool in_out = plan.staged() ? partition.offsets_stride <= tile * item
                                    : partition.offsets_stride == tile * item;
  partition.offsets =
      in_out ? partition.out : layout.take<std::byte>(tiles * partition.offsets_stride);
  partition.items = partition.out;
  partition.items_stride = tile * item;
  if (plan.staged()) {
    partition.items_stride = plan.capacity * item;
    partition.items = layout.take<std::byte>(tiles * partition.items_stride);
  }
}

/// Looks at a sample of the indices; gathers at once if it says so. Else the passes will work, on
/// all but what does not fill a tile.
template <class Item, class Raw>
void launch_direct(const Partition& partition, const DirectCall& call) {
  const Bounds<Raw> bounds(call.args);
  launch(partition_sample_kernel<Raw>, Grid{kStretches, kPartitionThreads, 0, true}, call.stream,
         partition, bounds, std::int64_t{partition.tiles} * kTile<sizeof(Item)>, call.args.item,
         call.tuning.partition.window, call.args.path == GPUKERN_GATHER_PARTITIONED);
  launch(
      partition_direct_kernel<Item, Raw>,
      Grid{std::int64_t{device_facts().multiprocessors} * kDirectBlocks, kDirectThreads, 0, true},
      call.stream, ItemArgs(call), bounds, call.fill, partition.tiles, partition.state);
}

template <class Item, class Raw, class Position, class Shape>
void launch_sort(const Partition& partition, const DirectCall& call) {
  launch_direct<Item, Raw>(partition, call);
  using Tile = SortTile<kTile<sizeof(Item)>, Raw, Position, Shape>;
  constexpr int kBlocks = kSortMostThreads / Tile::kThreads;  // on a multiprocessor
  const std::int64_t shared =
      sort_shared_bytes(kTile<sizeof(Item)>, partition.buckets, partition.capacity, Shape::kUnit);
  launch(partition_sort_kernel<kTile<sizeof(Item)>, Raw, Position, Shape>,
         Grid{std::int64_t{device_facts().multiprocessors} * kBlocks, Tile::kThreads,
              static_cast<std::size_t>(shared), true},
         call.stream, partition, Bounds<Raw>(call.args));
}

template <class Item, int kUnit>
void launch_staged(const Partition& partition, const DirectCall& call) {
  using Shape = Staged<kUnit>;
  if (call.args.index_type.bytes == 4)
    launch_sort<Item, std::uint32_t, std::int32_t, Shape>(partition, call);
  else
    launch_sort<Item, std::uint64_t, std::int32_t, Shape>(partition, call);
  const std::size_t slice = (std::size_t{3} << partition.shift) * sizeof(Item);
  launch(partition_fetch_staged_kernel<Item, kUnit>,
         Grid{device_facts().multiprocessors, kPartitionThreads, slice, true}, call.stream,
         partition);
  launch(partition_restore_kernel<Item, kUnit>,
         Grid{device_facts().multiprocessors, kPartitionThreads, partition.capacity * sizeof(Item),
              true},
         call.stream, partition, call.fill);
}

template <class Item>
void launch_cached(const Partition& partition, const DirectCall& call) {
  if (call.args.index_type.bytes == 4)
    launch_sort<Item, std::uint32_t, std::int32_t, Cached>(partition, call);
  else if (call.args.n <= std::int64_t{1} << 31)
    launch_sort<Item, std::uint64_t, std::int32_t, Cached>(partition, call);
  else
    launch_sort<Item, std::uint64_t, std::int64_t, Cached>(partition, call);
  // Not before the sort has left the multiprocessors: its shared memory is wanted as L1 cache.
  launch(partition_fetch_cached_kernel<Item>,
         Grid{std::int64_t{device_facts().multiprocessors} * FetchCached<Item>::kBlocks,
              kFetchCachedThreads},
         call.stream, partition);
  launch(partition_restore_kernel<Item, 1>,
         Grid{device_facts().multiprocessors, kPartitionThreads, partition.capacity * sizeof(Item),
              true},
         call.stream, partition, call.fill);
}

void launch_passes(const Partition& partition, const DirectCall& call, const PartitionPlan& plan) {
  switch (call.args.item) {
    case 1:
      return launch_staged<std::uint8_t, 4>(partition, call);
    case 2:
      return launch_staged<std::uint16_t, 4>(partition, call);
    case 4:
      if (plan.unit == 4) return launch_staged<std::uint32_t, 4>(partition, call);
      if (plan.unit == 2) return launch_staged<std::uint32_t, 2>(partition, call);
      return launch_cached<std::uint32_t>(partition, call);
    default:
      if (plan.unit == 2) return launch_staged<std::uint64_t, 2>(partition, call);
      return launch_cached<std::uint64_t>(partition, call);
  }
}

}  // namespace

bool partition_kernels_present() {
  const DeviceFacts facts = device_facts();
  return facts.overlaps_kernels &&
         facts.shared_bytes >= kPartitionSharedBytes + kDeclaredSharedBytes;
}

bool run_partition(Backend& backend, const DirectCall& call, const PartitionPlan& plan,
                   std::int64_t tiles) {
  const GatherArgs& args = call.args;
  const auto buckets = static_cast<unsigned>(plan.buckets);
  const std::int64_t tile = tile_items(args.item);
  const std::int64_t heavy = 4 * (tile / plan.unit / plan.buckets + 1);
  constexpr std::int64_t kMost = std::numeric_limits<unsigned>::max();
  Partition partition{.source = args.source,
                      .index = args.index,
                      .out = args.out,
                      .n = args.n,
                      .tiles = static_cast<unsigned>(tiles),
                      .buckets = buckets,
                      .shift = plan.shift,
                      .capacity = static_cast<unsigned>(plan.capacity),
                      .starts_stride = round_up(buckets + 1, 2),
                      .heavy = static_cast<unsigned>(plan.staged() ? heavy : kMost),
                      .heavy_units = static_cast<unsigned>(std::min(heavy * tiles, kMost))};
  Layout measure;
  lay_out(measure, partition, plan, args.item, tiles);
  const Buffer scratch = scratch_or_none(backend, measure.bytes(), call.stream);
  if (scratch.data() == nullptr) return false;
  Layout hand_out(static_cast<std::byte*>(scratch.data()));
  lay_out(hand_out, partition, plan, args.item, tiles);
  launch_passes(partition, call, plan);
  return true;
}

}  // namespace gpukern::gpu

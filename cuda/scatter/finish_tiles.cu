// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/join.cuh"
#include "cuda/scatter/reduce_items.cuh"
#include "cuda/scatter/sort_long_tiles.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

template <class T>
std::size_t shared_bytes(int bits) {
  return std::max({LongTiles<Carried<T>>::shared_bytes(bits), sizeof(ItemChunk<T>),
                   kJoinThreads * sizeof(Accumulator<T>)});
}

template <class T>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(3, kTileThreads))
    finish_kernel(const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                  const __grid_constant__ MovedUpdates updates,
                  const __grid_constant__ SpreadElements elements,
                  const __grid_constant__ UpdateColumns<1, true> columns,
                  const __grid_constant__ CompactReduction reduction,
                  const __grid_constant__ LongKeys long_keys) {
  static_assert(kTileThreads == kJoinThreads && alignof(ItemChunk<T>) <= 32);
  using Payload = Carried<T>;
  using Long = LongTiles<Payload>;
  enum Stage { kReduce = Long::kStages, kJoin, kStages };
  static_assert(Stages<kStages>::kNumbers <= kStageNumbers);
  constexpr int kLength = kPositions<T>;
  extern __shared__ __align__(32) std::byte memory[];
  wait_for_previous();
  const Long sorter(tiles, slices, updates);
  if (sorter.chunks == 0) return;
  const unsigned parts = sorter.chunks * (kTileUpdates / kLength);
  const unsigned joins =
      min(slices.number[Slices::kMoved] / static_cast<unsigned>(kBlockValues), kMostItems);
  const Stages<kStages> stages{slices.number + Slices::kLists,
                               {sorter.chunks, sorter.sum_items(), sorter.chunks, parts, joins}};
  stages.run([&](int stage, unsigned item) {
    if (stage < Long::kStages) return sorter.visit(stage, item, memory);
    if (stage == kReduce) {
      const SliceRange range = range_of_part(slices, item, kLength);
      if (range.begin < range.last)
        reinterpret_cast<ItemChunk<T>*>(memory)->reduce(
            {updates.sorted_keys, range.first, range.last, ~Key{0}}, range.begin,
            reinterpret_cast<const Payload*>(updates.sorted_payload), elements, columns.aligned,
            reduction, long_keys);
    } else {
      JoinedKeys<T, Key>{updates.sorted_keys, elements, columns, 1, long_keys}.join(
          item, joins, reduction, reinterpret_cast<Accumulator<T>*>(memory));
    }
  });
}

}  // namespace

void scatter_finish_tiles(const ScatterCall& call, const TileScratch& scratch,
                          const MovedUpdates& updates, const LongKeys& long_keys) {
  const auto& [tiles, slices] = scratch;
  const ScatterArgs& args = call.args;
  visit_short_float(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(finish_kernel<T>,
           Grid{.blocks = long_tile_blocks(call),
                .threads = kTileThreads,
                .shared_bytes = shared_bytes<T>(slices.bits),
                .programmatic_launch = true},
           call.stream, tiles, slices, updates, SpreadElements{target_elements(args), tiles.spread},
           update_columns<1, true>(args.columns, is_aligned(args, alignof(T))),
           CompactReduction{reduction_of(args.reduce, args.dtype)}, long_keys);
  });
}

}  // namespace gpukern::gpu

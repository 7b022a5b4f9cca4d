// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/sort_long_tiles.cuh"

namespace gpukern::gpu {
namespace {

using Payload = std::uint32_t;

/// Sorts the updates of all slices but the long ones, which it lists. With `skips`, the keys of
/// skipped updates follow, which are `none`.
__global__ void __launch_bounds__(kTileThreads, resident_blocks(4, kTileThreads))
    place_kernel(const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                 std::uint32_t* keys, Payload* payload, std::uint32_t count, bool skips,
                 std::uint32_t none) {
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ TileScan::TempStorage scan;
  static_assert(sizeof(Segments) <= kTileUpdates * sizeof(Payload));
  static_assert(2 * sizeof(scan) <= kDeclaredSharedBytes);
  auto& segments = *reinterpret_cast<Segments*>(memory);  // until the updates are sorted
  wait_for_previous();
  launch_next();
  const auto thread = static_cast<int>(threadIdx.x);
  const std::uint32_t slice = blockIdx.x;
  if (skips)
    for (std::uint32_t at = segments.before(tiles, tiles.slices) + slice * kTileThreads + thread;
         at < count; at += gridDim.x * kTileThreads) {
      keys[at] = none;
      payload[at] = 0;  // is read, but not used
    }
  const std::uint32_t found = segments.load(tiles, slice);
  if (found == 0) return;
  const std::uint32_t begin = segments.before(tiles, slice);
  if (found > kTileUpdates) return note_long(slices, slice, begin, found);
  const SortedTile<Payload> sorted(memory, 1U << slices.bits);
  sort_slice<Payload>(tiles, segments, static_cast<int>(found), sorted.places, scan,
                      [&](int place, std::uint16_t key, Payload of) {
                        sorted.key[place] = key;
                        sorted.payload[place] = of;
                      });
  __syncthreads();
  for (std::uint32_t at = thread; at < found; at += kTileThreads) {
    keys[begin + at] = (slice << slices.bits) + sorted.key[at];
    payload[begin + at] = sorted.payload[at];
  }
}

__global__ void __launch_bounds__(kTileThreads, resident_blocks(3, kTileThreads))
    finish_sort_kernel(const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                       const __grid_constant__ MovedUpdates updates) {
  using Long = LongTiles<Payload>;
  static_assert(Stages<Long::kStages>::kNumbers <= kStageNumbers);
  extern __shared__ __align__(16) std::byte memory[];
  wait_for_previous();
  launch_next();
  const Long sorter(tiles, slices, updates);
  if (sorter.chunks == 0) return;
  const Stages<Long::kStages> stages{slices.number + Slices::kLists,
                                     {sorter.chunks, sorter.sum_items(), sorter.chunks}};
  stages.run([&](int stage, unsigned item) { sorter.visit(stage, item, memory); });
}

}  // namespace

void scatter_place_tiles(const ScatterCall& call, const TileScratch& scratch,
                         const MovedUpdates& updates) {
  const auto& [tiles, slices] = scratch;
  launch(place_kernel,
         Grid{.blocks = slices.count,
              .threads = kTileThreads,
              .shared_bytes = SortedTile<Payload>::bytes(1U << slices.bits),
              .programmatic_launch = true},
         call.stream, tiles, slices, updates.sorted_keys,
         reinterpret_cast<Payload*>(updates.sorted_payload), static_cast<std::uint32_t>(call.count),
         call.args.mode == GPUKERN_INDEX_FILL, 1U << tiles.spread.bits());
  launch(finish_sort_kernel,
         Grid{.blocks = long_tile_blocks(call),
              .threads = kTileThreads,
              .shared_bytes = LongTiles<Payload>::shared_bytes(slices.bits),
              .programmatic_launch = true},
         call.stream, tiles, slices, updates);
}

}  // namespace gpukern::gpu

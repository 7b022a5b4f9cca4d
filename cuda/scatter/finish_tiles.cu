// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/common/stages.cuh"
#include "cuda/scatter/join.cuh"
#include "cuda/scatter/long_slices.cuh"
#include "cuda/scatter/reduce_items.cuh"
#include "cuda/scatter/tiles.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

/// Moves a chunk of the updates of a long slice together, and counts its keys. All threads of a
/// block call this.
template <class Payload>
__device__ __noinline__ void move_chunk(const Tiles& tiles, const Slices& slices,
                                        std::int64_t number, const LongUpdates& updates,
                                        std::byte* memory) {
  auto& segments = *reinterpret_cast<Segments*>(memory);
  auto* const count = reinterpret_cast<std::uint32_t*>(memory + sizeof(Segments));
  const auto thread = static_cast<int>(threadIdx.x);
  const int keys = 1 << slices.bits;
  const SliceChunk chunk = slices.chunks[number];
  for (int i = thread; i < keys; i += kTileThreads) count[i] = 0;
  const std::uint32_t all = segments.load(tiles, chunk.slice);
  const std::uint32_t begin = chunk.number * kTileUpdates;
  const std::uint32_t to = slices.starts[chunk.slice];
  auto* const payload = reinterpret_cast<Payload*>(updates.payload);
#pragma unroll 4
  for (std::uint32_t i = begin + thread; i < min(begin + kTileUpdates, all); i += kTileThreads) {
    const std::uint32_t at = segments.position(i);
    const Key key = tiles.keys[at];
    updates.keys[to + i] = (chunk.slice << slices.bits) + key;
    payload[to + i] = reinterpret_cast<const Payload*>(tiles.payload)[at];
    atomicAdd(count + key, 1);
  }
  __syncthreads();
  for (int i = thread; i < keys; i += kTileThreads) slices.counts[number * keys + i] = count[i];
}

template <class Payload>
__device__ __noinline__ void sort_chunk(const Slices& slices, std::int64_t number,
                                        const LongUpdates& updates, std::byte* memory) {
  __shared__ TileScan::TempStorage scan;
  const UpdateArrays<Payload> arrays{
      updates.keys, reinterpret_cast<const Payload*>(updates.payload), updates.sorted_keys,
      reinterpret_cast<Payload*>(updates.sorted_payload)};
  place_chunk(slices, number, arrays, memory, scan);
}

enum Stage { kMove, kSum, kSort, kReduce, kJoin, kStages };
static_assert(Stages<kStages>::kNumbers == kStageNumbers);

template <class T>
std::size_t shared_bytes(int bits) {
  return std::max({sizeof(Segments) + (sizeof(std::uint32_t) << bits), sizeof(ChunkSums),
                   Tile<Carried<T>>::bytes(bits), sizeof(ItemChunk<T>),
                   kJoinThreads * sizeof(Accumulator<T>)});
}

template <class T>
__global__ void __launch_bounds__(kTileThreads, resident_blocks(3, kTileThreads))
    finish_kernel(const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                  const __grid_constant__ LongUpdates updates,
                  const __grid_constant__ SpreadElements elements,
                  const __grid_constant__ UpdateColumns<1, true> columns,
                  const __grid_constant__ CompactReduction reduction,
                  const __grid_constant__ LongKeys long_keys) {
  static_assert(kTileThreads == kThreads && kTileThreads == kJoinThreads);
  using Payload = Carried<T>;
  constexpr int kLength = kPositions<T>;
  constexpr std::int64_t kMostItems = 1 << 10;  // of the stages that divide their work among them
  extern __shared__ __align__(16) std::byte memory[];
  wait_for_previous();
  const unsigned chunks = slices.number[Slices::kChunks];
  if (chunks == 0) return;
  const std::int64_t sums = slices.number[Slices::kHeads] * ChunkSums::groups(slices);
  const auto sum_items = static_cast<unsigned>(min(sums, kMostItems));
  const unsigned joins = min(slices.number[Slices::kMoved] / static_cast<unsigned>(kBlockValues),
                             static_cast<unsigned>(kMostItems));
  const unsigned parts = chunks * (kTileUpdates / kLength);
  const Stages<kStages> stages{slices.number + Slices::kLists,
                               {chunks, sum_items, chunks, parts, joins}};
  stages.run([&](int stage, unsigned item) {
    switch (stage) {
      case kMove:
        return move_chunk<Payload>(tiles, slices, item, updates, memory);
      case kSum:
        for (std::int64_t work = item; work < sums; work += sum_items)
          reinterpret_cast<ChunkSums*>(memory)->add(slices, work);
        return;
      case kSort:
        return sort_chunk<Payload>(slices, item, updates, memory);
      case kReduce: {
        const SliceRange range = range_of_part(slices, item, kLength);
        if (range.begin < range.last)
          reinterpret_cast<ItemChunk<T>*>(memory)->reduce(
              {updates.sorted_keys, range.first, range.last, ~Key{0}}, range.begin,
              reinterpret_cast<const Payload*>(updates.sorted_payload), elements, columns.aligned,
              reduction, long_keys);
        return;
      }
      default:
        JoinedKeys<T, Key, SpreadElements>{updates.sorted_keys, elements, columns, 1, long_keys}
            .join(item, joins, reduction, reinterpret_cast<Accumulator<T>*>(memory));
    }
  });
}

}  // namespace

void scatter_finish_tiles(const ScatterCall& call, const Tiles& tiles, const Slices& slices,
                          const LongUpdates& updates, const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  const std::int64_t blocks =
      std::min(resident_grid() / 2, 4 * ceil_divide(call.count, kTileUpdates));
  visit_short_float(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(finish_kernel<T>,
           Grid{.blocks = blocks,
                .threads = kTileThreads,
                .shared_bytes = shared_bytes<T>(slices.bits),
                .programmatic_launch = true},
           call.stream, tiles, slices, updates, SpreadElements{target_elements(args), tiles.spread},
           update_columns<1, true>(args.columns, is_aligned(args, alignof(T))),
           CompactReduction{reduction_of(args.reduce, args.dtype)}, long_keys);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/slice_bits.hpp"
#include "cuda/scatter/tiles.cuh"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

constexpr int kSortThreads = 512;
/// The updates of a thread at most, and how many of them it loads before it uses one.
constexpr int kSortEach = kTileUpdates / kSortThreads;
constexpr int kLoads = 4;

static_assert(TileSlices::kMostOfTile == kTileUpdates);

static_assert(TileSlices::kMostUpdates == std::int64_t{kMostTiles} * kTileUpdates);

template <class Raw>
__global__ void __launch_bounds__(kSortThreads, resident_blocks(2, kSortThreads))
    sort_tiles_kernel(const __grid_constant__ KeyOf key_of,
                      const __grid_constant__ UpdateValues values, bool aligned, std::int64_t count,
                      const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                      unsigned long long* long_keys) {
  using Payload = Carried<Raw>;
  extern __shared__ __align__(16) std::byte memory[];
  using Tile = SortedTile<Payload, kSortThreads>;
  __shared__ typename Tile::Scan::TempStorage scan;
  static_assert(sizeof(scan) <= kDeclaredSharedBytes);
  const Tile tile(memory, tiles.slices);
  launch_next();
  const auto thread = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0 && thread == 0) *long_keys = 0;
  if (blockIdx.x == 0 && thread < Slices::kLists + kStageNumbers) slices.number[thread] = 0;
  tile.places.clear();
  const int rounds = tiles.updates / kSortThreads;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * tiles.updates;
  const std::int64_t first = begin + thread / 32 * 32 * rounds + thread % 32;
  constexpr Key kNoKey = ~Key{0};
  Key key[kSortEach];
  Raw raw[kSortEach];
#pragma unroll
  for (int from = 0; from < kSortEach; from += kLoads) {
    if (from >= rounds) continue;
    std::int64_t found[kLoads];
    Raw loaded[kLoads];
    if (aligned) values.load(first + from * 32, 32, count - 1, loaded);
    key_of.find(first + from * 32, 32, count, found);
    if (!aligned) {
#pragma unroll
      for (int k = 0; k < kLoads; ++k)
        loaded[k] = load_misaligned<Raw>(values.at(min(first + (from + k) * 32, count - 1)));
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      key[from + k] =
          found[k] < 0 ? kNoKey : tiles.spread.spread(static_cast<std::uint32_t>(found[k]));
      raw[from + k] = loaded[k];
    }
  }
  __syncthreads();
  std::uint16_t rank[kSortEach];
  tile.places.count(
      rounds,
      [&](int k) { return key[k] == kNoKey ? -1 : static_cast<int>(key[k] >> slices.bits); }, rank);
  __syncthreads();
  tile.places.find(scan, [](std::uint32_t, std::uint32_t) {});
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortEach; ++k) {
    if (k >= rounds || key[k] == kNoKey) continue;
    const int place = tile.places.place(key[k] >> slices.bits, rank[k]);
    tile.key[place] = static_cast<std::uint16_t>(key[k] & ((1U << slices.bits) - 1));
    tile.payload[place] = raw[k];
  }
  std::uint16_t* const starts = tiles.starts_in(static_cast<int>(blockIdx.x));
  for (std::uint32_t slice = threadIdx.x; slice <= tiles.slices; slice += kSortThreads)
    starts[slice] = static_cast<std::uint16_t>(tile.places.begin(slice));
  __syncthreads();
  auto* const payload = reinterpret_cast<Payload*>(tiles.payload);
  const int number = tile.places.begin(tiles.slices);
  for (int at = thread; at < number; at += kSortThreads) {
    tiles.keys[begin + at] = tile.key[at];
    payload[begin + at] = tile.payload[at];
  }
}

int payload_bytes_of(const ScatterCall& call) { return call.args.item == 8 ? 8 : 4; }

int tiled_bits(const ScatterCall& call) {
  return TileSlices::bits(call.count, call.args.keys.count(),
                          most_slice_bits(payload_bytes_of(call)));
}

KeySpread key_spread(const ScatterCall& call) {
  return {call.args.keys.count(), TileSlices::group_bits(call.count)};
}

std::int64_t tiled_slices(const ScatterCall& call) {
  return std::int64_t{1} << (key_spread(call).bits() - tiled_bits(call));
}

/// The shared memory of sort_tiles_kernel.
std::size_t tile_bytes(const ScatterCall& call) {
  const auto digits = static_cast<std::uint32_t>(tiled_slices(call));
  const int payload_bytes = payload_bytes_of(call);
  return payload_bytes == 8 ? SortedTile<std::uint64_t, kSortThreads>::bytes(digits)
                            : SortedTile<std::uint32_t, kSortThreads>::bytes(digits);
}

struct Scratch {
  Tiles tiles;
  Slices slices;
  LongUpdates long_updates;
  LongKeys long_keys;
};

Scratch lay_out(ScratchLayout& layout, const ScatterCall& call, std::int64_t payload_bytes) {
  Scratch scratch{};
  Tiles& tiles = scratch.tiles;
  Slices& slices = scratch.slices;
  slices.bits = tiled_bits(call);
  tiles.spread = key_spread(call);
  slices.count = tiled_slices(call);
  slices.chunk = kTileUpdates;
  tiles.updates = TileSlices::updates_of_tile(call.count);
  tiles.number = static_cast<int>(ceil_divide(call.count, tiles.updates));
  tiles.slices = static_cast<std::uint32_t>(slices.count);
  const std::int64_t updates = std::int64_t{tiles.number} * tiles.updates;
  const std::int64_t chunks = 2 * ceil_divide(call.count, kTileUpdates);
  tiles.keys = layout.take<std::uint16_t>(updates);
  tiles.payload = layout.take(updates, payload_bytes);
  tiles.starts = layout.take<std::uint16_t>(tiles.number * (slices.count + 1));
  slices.starts = layout.take<std::uint32_t>(slices.count);
  slices.ends = layout.take<std::uint32_t>(slices.count);
  slices.number = layout.take<unsigned>(Slices::kLists + kStageNumbers);
  slices.chunks = layout.take<SliceChunk>(chunks);
  slices.heads = layout.take<std::uint32_t>(chunks);
  slices.counts = layout.take<std::uint32_t>(chunks << slices.bits);
  scratch.long_updates = {
      .keys = layout.take<Key>(call.count),
      .payload = layout.take(call.count, payload_bytes),
      .sorted_keys = layout.take<Key>(call.count),
      .sorted_payload = layout.take(call.count, payload_bytes),
  };
  scratch.long_keys = lay_out_long_keys(layout, call);
  return scratch;
}

}  // namespace

bool has_tiled(const ScatterCall& call) {
  const auto shared_bytes =
      static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  return call.args.reduce != GPUKERN_REDUCE_NONE && call.columns == 1 &&
         is_short_float(call.args.dtype) && tiled_bits(call) >= 0 &&
         tile_bytes(call) <= shared_bytes;
}

void scatter_tiled(Device& device, const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const int payload_bytes = payload_bytes_of(call);
  ScratchLayout measure;
  lay_out(measure, call, payload_bytes);
  const Buffer memory(device, measure.bytes(), call.stream);
  ScratchLayout layout(memory.data());
  const Scratch scratch = lay_out(layout, call, payload_bytes);
  const Tiles& tiles = scratch.tiles;
  const Slices& slices = scratch.slices;
  visit_index_width(static_cast<std::int32_t>(args.item), [&]<class Raw>(Raw) {
    if constexpr (sizeof(Raw) > 1)
      launch(sort_tiles_kernel<Raw>, Grid{tiles.number, kSortThreads, tile_bytes(call)},
             call.stream, key_of(args), update_values(args), is_aligned(args, args.item),
             call.count, tiles, slices, scratch.long_keys.number);
  });
  scatter_combine_tiles(call, tiles, slices);
  scatter_finish_tiles(call, tiles, slices, scratch.long_updates, scratch.long_keys);
}

}  // namespace gpukern::gpu

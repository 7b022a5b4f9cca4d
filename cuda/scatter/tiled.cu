// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/slice_bits.hpp"
#include "cuda/scatter/tiles.cuh"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

static_assert(TileSlices::kMostUpdates == std::int64_t{kMostTiles} * kTileUpdates);

template <class Raw>
__global__ void __launch_bounds__(kTileThreads)
    sort_tiles_kernel(const __grid_constant__ KeyOf key_of,
                      const __grid_constant__ UpdateValues values, bool aligned, std::int64_t count,
                      const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                      unsigned long long* long_keys) {
  using Payload = Carried<Raw>;
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ Places::Scan::TempStorage scan;
  const SortedTile<Payload> tile(memory, tiles.slices);
  launch_next();
  const auto thread = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0 && thread == 0) *long_keys = 0;
  if (blockIdx.x == 0 && thread < Slices::kLists) slices.number[thread] = 0;
  tile.places.clear();
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kTileUpdates;
  const std::int64_t first = begin + thread / 32 * 32 * kTileEach + thread % 32;
  constexpr Key kNoKey = ~Key{0};
  Key key[kTileEach];
  Raw raw[kTileEach];
#pragma unroll
  for (int from = 0; from < kTileEach; from += kTileTogether) {
    std::int64_t found[kTileTogether];
    Raw loaded[kTileTogether];
    if (aligned) values.load(first + from * 32, 32, count - 1, loaded);
    key_of.find(first + from * 32, 32, count, found);
    if (!aligned) {
#pragma unroll
      for (int k = 0; k < kTileTogether; ++k)
        loaded[k] = load_misaligned<Raw>(values.at(min(first + (from + k) * 32, count - 1)));
    }
#pragma unroll
    for (int k = 0; k < kTileTogether; ++k) {
      key[from + k] = found[k] < 0 ? kNoKey : static_cast<Key>(found[k]);
      raw[from + k] = loaded[k];
    }
  }
  __syncthreads();
  std::uint16_t rank[kTileEach];
  tile.places.count(
      kTileEach,
      [&](int k) { return key[k] == kNoKey ? -1 : static_cast<int>(key[k] >> slices.bits); }, rank);
  __syncthreads();
  tile.places.find(scan, [](std::uint32_t, std::uint32_t) {});
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kTileEach; ++k) {
    if (key[k] == kNoKey) continue;
    const int place = tile.places.place(key[k] >> slices.bits, rank[k]);
    tile.key[place] = static_cast<std::uint16_t>(key[k] & ((1U << slices.bits) - 1));
    tile.payload[place] = raw[k];
  }
  std::uint16_t* const starts = tiles.starts_in(static_cast<int>(blockIdx.x));
  for (std::uint32_t slice = threadIdx.x; slice <= tiles.slices; slice += kTileThreads)
    starts[slice] = static_cast<std::uint16_t>(tile.places.begin(slice));
  __syncthreads();
  auto* const payload = reinterpret_cast<Payload*>(tiles.payload);
  const int number = tile.places.begin(tiles.slices);
  for (int at = thread; at < number; at += kTileThreads) {
    tiles.keys[begin + at] = tile.key[at];
    payload[begin + at] = tile.payload[at];
  }
}

/// Moves the updates of each long slice together, and counts the keys of its chunks.
template <class Payload>
__global__ void __launch_bounds__(kTileThreads)
    move_long_kernel(const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                     Key* keys, Payload* payload) {
  __shared__ Segments segments;
  __shared__ std::uint32_t count[1 << TileSlices::kMostBits];
  wait_for_previous();
  launch_next();
  const auto thread = static_cast<int>(threadIdx.x);
  const int all_keys = 1 << slices.bits;
  for (std::int64_t c = blockIdx.x; c < slices.number[Slices::kChunks]; c += gridDim.x) {
    const SliceChunk chunk = slices.chunks[c];
    for (int i = thread; i < all_keys; i += kTileThreads) count[i] = 0;
    const std::uint32_t number = segments.load(tiles, chunk.slice);
    const std::uint32_t begin = chunk.number * kTileUpdates;
    const std::uint32_t to = slices.starts[chunk.slice];
#pragma unroll 4
    for (std::uint32_t i = begin + thread; i < min(begin + kTileUpdates, number);
         i += kTileThreads) {
      const std::uint32_t at = segments.position(i);
      const Key key = tiles.keys[at];
      keys[to + i] = (chunk.slice << slices.bits) + key;
      payload[to + i] = reinterpret_cast<const Payload*>(tiles.payload)[at];
      atomicAdd(count + key, 1);
    }
    __syncthreads();
    for (int i = thread; i < all_keys; i += kTileThreads)
      slices.counts[c * all_keys + i] = count[i];
    __syncthreads();
  }
}

int payload_bytes_of(const ScatterCall& call) { return call.args.item == 8 ? 8 : 4; }

int tiled_bits(const ScatterCall& call) {
  return TileSlices::bits(call.count, call.args.keys.count(),
                          most_slice_bits(payload_bytes_of(call)));
}

/// The shared memory of sort_tiles_kernel.
std::size_t tile_bytes(int payload_bytes, std::int64_t slices) {
  const auto digits = static_cast<std::uint32_t>(slices);
  return payload_bytes == 8 ? SortedTile<std::uint64_t>::bytes(digits)
                            : SortedTile<std::uint32_t>::bytes(digits);
}

struct Scratch {
  Tiles tiles;
  Slices slices;
  Key* keys;
  std::byte* payload;
  Key* sorted_keys;
  std::byte* sorted_payload;
  LongKeys long_keys;
};

Scratch lay_out(ScratchLayout& layout, const ScatterCall& call, std::int64_t payload_bytes) {
  Scratch scratch{};
  Tiles& tiles = scratch.tiles;
  Slices& slices = scratch.slices;
  slices.bits = tiled_bits(call);
  slices.count = ceil_divide(call.args.keys.count(), std::int64_t{1} << slices.bits);
  slices.chunk = kTileUpdates;
  tiles.number = static_cast<int>(ceil_divide(call.count, kTileUpdates));
  tiles.slices = static_cast<std::uint32_t>(slices.count);
  const std::int64_t updates = std::int64_t{tiles.number} * kTileUpdates;
  const std::int64_t chunks = 2 * ceil_divide(call.count, kTileUpdates);
  tiles.keys = layout.take<std::uint16_t>(updates);
  tiles.payload = layout.take(updates, payload_bytes);
  tiles.starts = layout.take<std::uint16_t>(tiles.number * (slices.count + 1));
  slices.starts = layout.take<std::uint32_t>(slices.count);
  slices.ends = layout.take<std::uint32_t>(slices.count);
  slices.number = layout.take<unsigned>(Slices::kLists);
  slices.chunks = layout.take<SliceChunk>(chunks);
  slices.heads = layout.take<std::uint32_t>(chunks);
  slices.counts = layout.take<std::uint32_t>(chunks << slices.bits);
  scratch.keys = layout.take<Key>(call.count);
  scratch.payload = layout.take(call.count, payload_bytes);
  scratch.sorted_keys = layout.take<Key>(call.count);
  scratch.sorted_payload = layout.take(call.count, payload_bytes);
  scratch.long_keys = lay_out_long_keys(layout, call);
  return scratch;
}

}  // namespace

bool has_tiled(const ScatterCall& call) {
  const auto shared_bytes =
      static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  return call.args.reduce != GPUKERN_REDUCE_NONE && call.columns == 1 &&
         is_short_float(call.args.dtype) && tiled_bits(call) >= 0 &&
         tile_bytes(payload_bytes_of(call), TileSlices::kMost) <= shared_bytes;
}

void scatter_tiled(Device& device, const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  SortPlan plan{};
  plan.payload_bytes = payload_bytes_of(call);
  ScratchLayout measure;
  lay_out(measure, call, plan.payload_bytes);
  const Buffer memory(device, measure.bytes(), call.stream);
  ScratchLayout layout(memory.data());
  const Scratch scratch = lay_out(layout, call, plan.payload_bytes);
  const Tiles& tiles = scratch.tiles;
  const Slices& slices = scratch.slices;
  visit_index_width(static_cast<std::int32_t>(args.item), [&]<class Raw>(Raw) {
    if constexpr (sizeof(Raw) > 1)
      launch(sort_tiles_kernel<Raw>,
             Grid{tiles.number, kTileThreads, tile_bytes(plan.payload_bytes, slices.count)},
             call.stream, key_of(args), update_values(args), is_aligned(args, args.item),
             call.count, tiles, slices, scratch.long_keys.number);
  });
  scatter_combine_tiles(call, tiles, slices);
  const auto move_long = [&]<class Payload>(Payload) {
    launch(move_long_kernel<Payload>,
           Grid{.blocks = resident_grid(), .threads = kTileThreads, .programmatic_launch = true},
           call.stream, tiles, slices, scratch.keys, reinterpret_cast<Payload*>(scratch.payload));
  };
  if (plan.payload_bytes == 8)
    move_long(std::uint64_t{});
  else
    move_long(std::uint32_t{});
  scatter_sort_long_slices(
      call, plan, slices,
      {scratch.keys, scratch.sorted_keys, scratch.payload, scratch.sorted_payload, nullptr, 0});
  scatter_reduce_items(call, slices, scratch.sorted_keys, scratch.sorted_payload,
                       scratch.long_keys);
  scatter_join(call, plan, scratch.sorted_keys, scratch.long_keys);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/tiles.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

constexpr int kSortThreads = 512;
/// The updates of a thread at most, and how many of them it loads before it uses one.
constexpr int kSortEach = kTileUpdates / kSortThreads;
constexpr int kLoads = 4;

static_assert(TileSlices::kMostOfTile == kTileUpdates);
static_assert(TileSlices::kMostUpdates == std::int64_t{kMostTiles} * kTileUpdates);

/// Moves values of the type Raw or, with kNumbers, the numbers of the updates.
template <class Raw, bool kNumbers>
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
    if (!kNumbers && aligned) values.load(first + from * 32, 32, count - 1, loaded);
    key_of.find(first + from * 32, 32, count, found);
    if (kNumbers) {
#pragma unroll
      for (int k = 0; k < kLoads; ++k) loaded[k] = static_cast<Raw>(first + (from + k) * 32);
    } else if (!aligned) {
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

/// The bits of a key in its slice, or -1.
int bits_of(const ScatterCall& call, int payload_bytes) {
  return TileSlices::bits(call.count, call.args.keys.count(), most_slice_bits(payload_bytes));
}

std::size_t shared_bytes(std::int64_t slices, int payload_bytes) {
  const auto digits = static_cast<std::uint32_t>(slices);
  return payload_bytes == 8 ? SortedTile<std::uint64_t, kSortThreads>::bytes(digits)
                            : SortedTile<std::uint32_t, kSortThreads>::bytes(digits);
}

template <class Raw, bool kNumbers>
void launch_sort(const ScatterCall& call, const TileScratch& scratch,
                 unsigned long long* long_keys) {
  const auto& [tiles, slices] = scratch;
  launch(sort_tiles_kernel<Raw, kNumbers>,
         Grid{tiles.number, kSortThreads, shared_bytes(slices.count, sizeof(Carried<Raw>))},
         call.stream, key_of(call.args), update_values(call.args),
         is_aligned(call.args, sizeof(Raw)), call.count, tiles, slices, long_keys);
}

}  // namespace

KeySpread tile_spread(const ScatterCall& call) {
  return {call.args.keys.count(), TileSlices::group_bits(call.count)};
}

bool fits_tiles(const ScatterCall& call, int payload_bytes) {
  const int bits = bits_of(call, payload_bytes);
  const auto most = static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  return bits >= 0 &&
         shared_bytes(std::int64_t{1} << (tile_spread(call).bits() - bits), payload_bytes) <= most;
}

TileScratch lay_out_tiles(ScratchLayout& layout, const ScatterCall& call, int payload_bytes) {
  TileScratch scratch{};
  auto& [tiles, slices] = scratch;
  tiles.spread = tile_spread(call);
  slices.bits = bits_of(call, payload_bytes);
  slices.count = std::int64_t{1} << (tiles.spread.bits() - slices.bits);
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
  return scratch;
}

void scatter_sort_tiles(const ScatterCall& call, const TileScratch& scratch, TilePayload payload,
                        unsigned long long* long_keys) {
  if (payload == TilePayload::Numbers)
    return launch_sort<std::uint32_t, true>(call, scratch, long_keys);
  visit_index_width(static_cast<std::int32_t>(call.args.item), [&]<class Raw>(Raw) {
    if constexpr (sizeof(Raw) > 1) launch_sort<Raw, false>(call, scratch, long_keys);
  });
}

}  // namespace gpukern::gpu

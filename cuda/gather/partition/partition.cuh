// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Gather without random access to memory: what the passes of the partitioned path share.
//
// A random item costs a whole access to DRAM. So the source is divided into slices, each small
// enough for shared memory or for a part of the L2 cache, and the indices into tiles:
//   sort       sorts the indices of a tile by their slice ("bucket"),
//   fetch      goes through the slices and fetches the items that the tiles need of each,
//   unpermute  brings the items of a tile back into the order of the indices.
// All passes stream. Before them, a sample of the indices shows whether direct access is fast, as
// for sorted or repeated indices; if so, the passes do nothing and a direct kernel gathers. Of a
// mixture, the sort leaves out the items that are near their neighbours, and unpermute gathers
// them. This is the radix partitioning of database joins, with a pass that undoes it (S. Manegold,
// P. Boncz, M. Kersten: Optimizing main-memory join on modern hardware, 2002).
// Measured: benchmarks/notes/gather.md#partitioned-gather.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/gather/partition/sample_model.hpp"

namespace gpukern::gpu {

inline constexpr int kPartitionThreads = 1024;
inline constexpr int kFetchCachedThreads = 256;

/// Tiles of a call: their units are counted in 32-bit numbers.
inline constexpr std::int64_t kMaxTiles = 1 << 17;

/// Blocks of the cached fetch on a multiprocessor: few, so that all work on few slices.
/// Measured: benchmarks/notes/gather.md#slices-in-the-l2-cache.
constexpr int fetch_cached_blocks(std::int64_t item_bytes) { return item_bytes <= 4 ? 5 : 4; }

/// Neighbouring tiles whose runs a warp of the cached fetch takes.
inline constexpr int kFetchCachedTiles = 4;

/// The ranks of a tile (where each index is in sorted order) and the starts of its runs are 16-bit
/// numbers. kNoRank stands for the fill value, kDirectRank for an item that the sort has left out
/// and unpermute gathers.
inline constexpr unsigned kNoRank = 0xffff;
inline constexpr unsigned kDirectRank = 0xfffe;

/// Indices in a tile: its items fill the shared memory of one multiprocessor.
template <std::size_t kItemBytes>
inline constexpr int kTile = (kItemBytes <= 4 ? 48 : 24) << 10;
inline std::int64_t tile_items(std::int64_t item_bytes) {
  return item_bytes <= 4 ? kTile<4> : kTile<8>;
}

/// Dynamic shared memory of a block: the 227 KiB of compute capability 9.0 and 10.x, less what the
/// kernels declare. GPUs with less do not partition.
inline constexpr std::int64_t kPartitionSharedBytes = (227 << 10) - 2048;

/// Slices in shared memory. Runs (the part of a tile that one bucket owns) are padded to units, so
/// that a thread moves a vector.
template <int kUnitItems>
struct SharedSlices {
  using Offset = std::uint16_t;
  static constexpr int kUnit = kUnitItems;
  static constexpr unsigned kFactor = 3;  ///< 3 << 14 items of 4 bytes take 192 KiB
};

/// Slices in the L2 cache, for sources so long that runs for shared memory would be too short.
struct CachedSlices {
  using Offset = std::uint32_t;
  static constexpr int kUnit = 1;
  static constexpr unsigned kFactor = 1;
};

/// An additional share of a heavy bucket's tiles, for another block to fetch.
struct ExtraPart {
  unsigned bucket;
  unsigned number;
};

/// Blocks that read a run of the sample, and their threads.
inline constexpr int kSampleBlocks = 32;
inline constexpr int kSampleThreads = 512;

/// The sampled granules of a part of a run, see IndexSample.
struct SampleList {
  static constexpr unsigned kMax = 126;  ///< entries; up to 32 are expected
  struct Header {
    unsigned near;   ///< see SampleCounts
    unsigned found;  ///< if more than kMax, the first ones stand for all of them
  };
  Header header;
  unsigned entry[kMax];
};

/// An item is near if it is at most kNearSectors sectors of 32 bytes from that of the index
/// kNearIndices after it, or before it in every second group of 16: direct access is fast, and the
/// sort may leave it out. That finds the indices in order of mixtures whose period divides 12.
inline constexpr int kNearIndices = 12;
inline constexpr int kNearSectors = 8;

/// The lane with the other index, where each lane has 1, 2 or 4.
__host__ __device__ constexpr unsigned near_lane(unsigned lane, int indices) {
  const unsigned apart = kNearIndices / indices;
  return (lane & (16 / indices)) != 0 ? lane - apart : lane + apart;
}

template <class Sector>
__device__ bool are_near(Sector one, Sector other) {
  return max(one, other) - min(one, other) <= static_cast<Sector>(kNearSectors);
}

/// The state that the passes share, in device memory.
struct PartitionState {
  SampleCounts counts[SampleCounts::kRuns];  ///< by partition_sample_count_kernel
  bool local;            ///< direct access is fast: the passes do nothing; by the direct gather
  bool mixed;            ///< the sort leaves out near items; by the direct gather
  unsigned extra_parts;  ///< zeroed by the sample, as the others
  unsigned taken;        ///< slices, or work tiles of the cached fetch, that blocks have taken
  unsigned direct;       ///< work tiles of the direct gather that blocks have taken
};

/// The call and its scratch memory. A tile's row of `starts` has a start for each bucket and the
/// end, in units; `offsets` and `items` hold `capacity` elements for each tile.
struct Partition {
  const std::byte* source = nullptr;
  const std::byte* index = nullptr;
  std::byte* out = nullptr;
  std::int64_t n = 0;
  unsigned tiles = 0;
  unsigned buckets = 0;
  int shift = 0;          ///< a slice has kFactor << shift items
  unsigned capacity = 0;  ///< kTile and the padding at most, a multiple of 128
  unsigned starts_stride = 0;
  int sector_shift = 0;      ///< a sector of 32 bytes has 1 << sector_shift items
  unsigned heavy = 0;        ///< units in a run from which it is heavy; shared slices only
  unsigned heavy_units = 0;  ///< a bucket has an additional part for each that many of them
  PartitionState* state = nullptr;
  SampleList* samples = nullptr;     ///< [SampleCounts::kRuns][kSampleBlocks]
  unsigned* heavy_of = nullptr;      ///< [buckets] units in heavy runs
  ExtraPart* extra_parts = nullptr;  ///< [buckets]
  std::uint16_t* starts = nullptr;   ///< [tiles][starts_stride]
  std::uint16_t* ranks = nullptr;    ///< [tiles][kTile]
  std::byte* offsets = nullptr;
  std::byte* items = nullptr;
  std::int64_t offsets_stride = 0;  ///< bytes from tile to tile
  std::int64_t items_stride = 0;
};

/// Rounds up.
__host__ __device__ constexpr unsigned round_up(unsigned number, unsigned multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/// Threads that sort a tile. Two blocks with half a tile each share a multiprocessor: while one
/// waits at a barrier, the other works.
inline constexpr int kSortMaxThreads = 1024;
constexpr int sort_threads(std::int64_t tile) {
  return tile == kTile<8> ? kSortMaxThreads / 2 : kSortMaxThreads;
}

/// Bytes of positions that a thread of the sort holds in registers, and as many in shared memory
/// where 16-bit offsets leave room. Measured: benchmarks/notes/gather.md#partitioned-gather.
inline constexpr int kKeptBytes = 64;

/// Bytes of the counters that precede the offsets in the shared memory of the sort.
__host__ __device__ constexpr unsigned counter_bytes(unsigned buckets) {
  return round_up((buckets + 1) * 4, 128);
}

/// Dynamic shared memory of a block of the sort: counters, offsets and positions.
inline std::int64_t sort_shared_bytes(std::int64_t tile, std::int64_t buckets,
                                      std::int64_t capacity, int unit) {
  const std::int64_t counters = counter_bytes(static_cast<unsigned>(buckets));
  return unit > 1 ? counters + capacity * 2 + sort_threads(tile) * kKeptBytes
                  : counters + capacity * 4;
}

}  // namespace gpukern::gpu

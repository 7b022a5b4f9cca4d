// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/join.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/scatter/tiles.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

constexpr int kBlock = static_cast<int>(kBlockValues);

/// The blocks of values of the keys of a slice that have several, at most one for each lane.
template <class A>
struct LongOnes {
  static constexpr int kMost = 2 * kTileUpdates / kBlock;
  static_assert(kMost <= kWarp);

  int number;
  std::uint16_t key[kMost];
  std::uint16_t block[kMost];  ///< its number among those of its key
  A combined[kMost];

  /// Called by one thread. The element begins the first block.
  __device__ void add(int of, int values, A element) {
    const int blocks = values / kBlock + 1;
    const int at = atomicAdd(&number, blocks);
    for (int b = 0; b < blocks; ++b) {
      key[at + b] = static_cast<std::uint16_t>(of);
      block[at + b] = static_cast<std::uint16_t>(b);
    }
    combined[at] = element;
  }
};

/// The values of a slice, sorted by key.
template <class T>
struct SortedSlice {
  using A = Accumulator<T>;

  const Carried<T>* value;
  Places<kTileThreads> places;
  int keys;
  Key base;
  const SpreadElements& elements;
  bool aligned;
  const CompactReduction& reduction;

  [[nodiscard]] __device__ int values_of(int key) const {
    return places.begin(key + 1) - places.begin(key);
  }

  /// Combines the values of all keys but those with several blocks.
  __device__ void combine_short(LongOnes<A>& long_ones) const {
    constexpr int kLoads = 4;
#pragma unroll 1
    for (int from = static_cast<int>(threadIdx.x); from < keys; from += kLoads * kTileThreads) {
      A element[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const int key = from + k * kTileThreads;
        if (key < keys && values_of(key) > 0)
          element[k] = widened(load_element<T>(elements.at(base + key), aligned));
      }
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        const int key = from + k * kTileThreads;
        const int values = key < keys ? values_of(key) : 0;
        if (values >= kBlock)
          long_ones.add(key, values, element[k]);
        else if (values > 0)
          store(key, values,
                combine_carried<T>(reduction, element[k], value, places.begin(key),
                                   places.begin(key) + values));
      }
    }
  }
  /// Called by one warp.
  __device__ void combine_long(LongOnes<A>& long_ones) const {
    const auto lane = static_cast<int>(threadIdx.x);
    const bool active = lane < long_ones.number;
    const int key = active ? long_ones.key[lane] : 0;
    const int block = active ? long_ones.block[lane] : 0;
    const int values = values_of(key);
    if (active) {
      const int first = block == 0 ? 0 : block * kBlock;
      const int last = min((block + 1) * kBlock - 1, values);
      const int begin = places.begin(key) + first;
      const A sum = block == 0 ? long_ones.combined[lane] : carried_value<T>(value[begin - 1]);
      long_ones.combined[lane] =
          combine_carried<T>(reduction, sum, value, begin, begin + last - first);
    }
    __syncwarp();
    if (!active || block != 0) return;
    const auto of = [&](std::int64_t b) { return long_ones.combined[lane + b]; };
    store(key, values, join_blocks<A, 1>(of, 0, values / kBlock + 1, reduction));
  }

 private:
  __device__ void store(int key, int values, A sum) const {
    store_element(elements.at(base + key), finished<T>(reduction.reduce, sum, values + 1), aligned);
  }
};

template <class T>
__global__ void __launch_bounds__(kTileThreads,
                                  resident_blocks(sizeof(T) > 4 ? 3 : 4, kTileThreads))
    combine_kernel(const __grid_constant__ Tiles tiles, const __grid_constant__ Slices slices,
                   const __grid_constant__ SpreadElements elements, bool aligned,
                   const __grid_constant__ CompactReduction reduction) {
  using Payload = Carried<T>;
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ union {
    TileScan::TempStorage scan;
    alignas(LongOnes<Accumulator<T>>) std::byte long_ones[sizeof(LongOnes<Accumulator<T>>)];
  } shared;
  __shared__ std::uint32_t moved;
  static_assert(sizeof(shared) + 2 * sizeof(moved) <= kDeclaredSharedBytes);
  static_assert(sizeof(Segments) <= kTileUpdates * sizeof(Payload));
  auto* const value = reinterpret_cast<Payload*>(memory);
  auto& segments = *reinterpret_cast<Segments*>(memory);  // until the values are sorted
  auto& long_ones = *reinterpret_cast<LongOnes<Accumulator<T>>*>(shared.long_ones);
  wait_for_previous();
  launch_next();
  const auto thread = static_cast<int>(threadIdx.x);
  const std::uint32_t slice = blockIdx.x;
  const Key base = slice << slices.bits;
  const std::uint32_t found = segments.load(tiles, slice);
  if (found == 0) return;
  if (found > kTileUpdates) {
    if (thread == 0) moved = atomicAdd(slices.number + Slices::kMoved, found);
    __syncthreads();
    return note_long(slices, slice, moved, found);
  }
  const int keys = 1 << slices.bits;
  const Places<kTileThreads> places(value + kTileUpdates, static_cast<std::uint32_t>(keys));
  sort_slice<Payload>(tiles, segments, static_cast<int>(found), places, shared.scan,
                      [&](int place, std::uint16_t, Payload payload) { value[place] = payload; });
  if (thread == 0) long_ones.number = 0;
  __syncthreads();
  const SortedSlice<T> sorted{value, places, keys, base, elements, aligned, reduction};
  sorted.combine_short(long_ones);
  __syncthreads();
  if (thread < kWarp) sorted.combine_long(long_ones);
}

}  // namespace

void scatter_combine_tiles(const ScatterCall& call, const TileScratch& scratch) {
  const auto& [tiles, slices] = scratch;
  const ScatterArgs& args = call.args;
  visit_short_float(args.dtype, [&]<class T>(TypeTag<T>) {
    const std::size_t bytes =
        kTileUpdates * sizeof(Carried<T>) + Places<kTileThreads>::bytes(1U << slices.bits);
    launch(combine_kernel<T>,
           Grid{.blocks = slices.count,
                .threads = kTileThreads,
                .shared_bytes = bytes,
                .programmatic_launch = true},
           call.stream, tiles, slices, SpreadElements{target_elements(args), tiles.spread},
           is_aligned(args, alignof(T)), CompactReduction{reduction_of(args.reduce, args.dtype)});
  });
}

}  // namespace gpukern::gpu

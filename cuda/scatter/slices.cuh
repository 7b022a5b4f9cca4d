// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Slices of the target: 2^bits neighbouring keys. Updates are sorted by slice, stably, which takes
// fewer passes than a sort by key. Then a warp combines the updates of a slice in shared memory, in
// order. A slice is long if it has more updates than two chunks, or a key with more values than a
// block; the updates of long slices are sorted by key, in chunks. tiles.cuh has slices, too.
#pragma once

#include <cstring>
#include <type_traits>

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

/// A value as it moves with its key.
template <class T>
using Carried = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
__device__ Accumulator<T> carried_value(Carried<T> bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return widened(value);
}

/// Combines values [begin, end) after `sum`.
template <class T, class Reducer>
__device__ Accumulator<T> combine_carried(const Reducer& reduction, Accumulator<T> sum,
                                          const Carried<T>* value, int begin, int end) {
  return combine_values(reduction, sum, end - begin,
                        [&](int i) { return carried_value<T>(value[begin + i]); });
}

/// A range of the sorted updates, in a slice that begins at `first` and ends at `last`.
struct SliceRange {
  std::int64_t first;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t last;
};

/// Range number `part` of those of `length` updates that the chunks of long slices divide into.
__device__ inline SliceRange range_of_part(const Slices& slices, std::int64_t part,
                                           std::int64_t length) {
  const std::int64_t parts = slices.chunk / length;
  const SliceChunk of = slices.chunk_at(part / parts);
  const std::int64_t first = slices.starts[of.slice];
  const std::int64_t last = slices.ends[of.slice];
  const std::int64_t begin = first + of.number * slices.chunk + part % parts * length;
  return {first, begin, min(begin + length, last), last};
}

/// Calls visit(sorted, begin) for the ranges of kLength sorted updates that this thread block
/// takes: of all of them or, if they are sorted by slice, of those of long slices.
template <int kLength, class Visit>
__device__ void visit_sorted(const SortedKeys<std::uint32_t>& all, const Slices& slices,
                             const Visit& visit) {
  const bool by_slice = slices.count > 0;
  const std::int64_t parts = by_slice ? slices.all_chunks() * (slices.chunk / kLength) : gridDim.x;
  for (std::int64_t part = blockIdx.x; part < parts; part += gridDim.x) {
    SortedKeys<std::uint32_t> sorted = all;
    std::int64_t begin = part * kLength;
    if (by_slice) {
      const SliceRange range = range_of_part(slices, part, kLength);
      sorted.begin = range.first;
      sorted.end = range.last;
      begin = range.begin;
    }
    if (begin < sorted.end) visit(sorted, begin);
    if (by_slice) __syncthreads();
  }
}

/// The lanes of a warp that count the same thing.
struct EqualLanes {
  unsigned mask = 0;         ///< 0 for a lane that does not count
  std::uint32_t before = 0;  ///< the count so far
  bool repeats = false;      ///< whether any two lanes of the warp are equal

  [[nodiscard]] __device__ int rank() const {
    return __popc(mask & ((1U << threadIdx.x % 32) - 1));
  }
  [[nodiscard]] __device__ int number() const { return __popc(mask); }
  [[nodiscard]] __device__ std::uint32_t after() const { return before + number(); }
  [[nodiscard]] __device__ bool is_last() const {
    return mask != 0 && mask >> threadIdx.x % 32 == 1;
  }
};

/// Adds one to a counter in shared memory for each lane that counts. Each writes its number over
/// the counter, between two __syncwarp(); whichever remains, its lane stands for all. That takes
/// less time than __match_any_sync().
template <class Counter>
__device__ EqualLanes count_by_warp(bool counts, Counter* counter) {
  const unsigned lane = threadIdx.x % 32;
  EqualLanes equal;
  if (counts) {
    equal.before = *counter;
    equal.mask = 1U << lane;
  }
  __syncwarp();
  if (counts) *counter = static_cast<Counter>(lane);
  __syncwarp();
  const unsigned chosen = counts ? *counter : lane;
  equal.repeats = __any_sync(~0U, chosen != lane);
  if (equal.repeats) {
    unsigned mask = __ballot_sync(~0U, counts);
#pragma unroll
    for (int bit = 0; bit < 5; ++bit) {
      const bool is_set = (chosen >> bit & 1) != 0;
      const unsigned set = __ballot_sync(~0U, is_set);
      mask &= is_set ? set : ~set;
    }
    if (counts) equal.mask = mask;
  }
  __syncwarp();
  if (counts && chosen == lane) *counter = static_cast<Counter>(equal.after());
  __syncwarp();
  return equal;
}

/// Updates of a warp from a position on, 32 at a time, all loaded before the first use.
template <class Value>
struct UpdateBatch {
  static constexpr int kCount = 4;
  static constexpr int kUpdates = 32 * kCount;
  bool inside[kCount];
  std::uint32_t key[kCount];
  Value value[kCount];

  /// `values` may be nullptr.
  __device__ UpdateBatch(const std::uint32_t* keys, const Value* values, std::int64_t from,
                         std::int64_t end) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      inside[k] = at(from, k) < end;
      key[k] = inside[k] ? __ldcs(keys + at(from, k)) : 0;
      value[k] = inside[k] && values != nullptr ? load(values + at(from, k)) : Value{};
    }
  }

  static __device__ Value load(const Value* from) {
    if constexpr (sizeof(Value) == 8)
      return __ldcs(reinterpret_cast<const unsigned long long*>(from));
    else
      return __ldcs(from);
  }
  static __device__ std::int64_t at(std::int64_t from, int k) {
    return from + 32 * k + threadIdx.x % 32;
  }
};

}  // namespace gpukern::gpu

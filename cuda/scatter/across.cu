// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sorted updates along the innermost axis, of many rows by one index: a thread has a key, and
// neighbouring threads those of neighbouring elements.

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "cuda/common/join.cuh"
#include "cuda/common/reduction.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

/// The updates, sorted by key, and where a thread finds those of a row.
struct SortedRows {
  SortedKeys<std::uint32_t> sorted;
  const std::uint32_t* update;
  UpdateValues values;
  TargetElements elements;
  RowColumns<1> rows;
  ThreadGroups threads;  ///< for consecutive updates; other groups have other rows

  /// The position of this thread's update.
  [[nodiscard]] __device__ std::int64_t position() const {
    return std::int64_t{blockIdx.x} * threads.lanes() + threads.lane();
  }
  [[nodiscard]] __device__ bool is_of(std::int64_t at, std::uint32_t key) const {
    return at >= 0 && at < sorted.end && sorted.key[at] == key;
  }
  /// Calls visit(offsets, exists) for several rows at a time: exists(k) is false for those past the
  /// end, which have the offsets of the last one.
  template <int kTogether, class Visit>
  __device__ void visit(const Visit& visit) const {
    const std::int64_t groups = std::int64_t{gridDim.y} * (kThreads >> threads.bits);
    const std::int64_t group =
        std::int64_t{blockIdx.y} * (kThreads >> threads.bits) + threads.in_block();
    for (std::int64_t first = group; first < rows.count; first += groups * kTogether) {
      ColumnOffsets at[kTogether];
      rows.find(first, groups, at);
      visit(at, [&](int k) { return first + k * groups < rows.count; });
    }
  }
};

template <class W>
__global__ void __launch_bounds__(kThreads)
    put_across_kernel(const __grid_constant__ SortedRows call) {
  const std::int64_t position = call.position();
  if (position >= call.sorted.end) return;
  const std::uint32_t key = call.sorted.key[position];
  if (key == call.sorted.none || call.is_of(position + 1, key)) return;
  const std::byte* const value = call.values.at(call.update[position]);
  std::byte* const element = call.elements.at(key);
  call.visit<kWordsInFlight>([&](const auto& at, const auto& exists) {
    W word[kWordsInFlight];
#pragma unroll
    for (int k = 0; k < kWordsInFlight; ++k)
      word[k] = *reinterpret_cast<const W*>(value + at[k].from);
#pragma unroll
    for (int k = 0; k < kWordsInFlight; ++k)
      if (exists(k)) *reinterpret_cast<W*>(element + at[k].to) = word[k];
  });
}

/// The end of the updates of a key that begin at `first`.
__device__ std::int64_t end_of_key(const SortedRows& call, std::int64_t first, std::uint32_t key) {
  std::int64_t end = first + 1;
  std::int64_t step = 1;
  for (; call.is_of(end + step - 1, key); step *= 2) end += step;
  for (; step > 0; step /= 2)
    if (call.is_of(end + step - 1, key)) end += step;
  return end;
}

/// The values of an element, itself the first, in one row.
template <class T>
struct RowValues {
  const SortedRows& call;
  std::int64_t first;  ///< position of the first update
  const std::byte* element;

  using A = Accumulator<T>;
  [[nodiscard]] __device__ static A load(const std::byte* at) {
    return widened(*reinterpret_cast<const T*>(at));
  }
  [[nodiscard]] __device__ A at(std::int64_t value, const ColumnOffsets& row) const {
    if (value == 0) return load(element + row.to);
    return load(call.values.at(call.update[first + value - 1]) + row.from);
  }
  /// By a warp: lanes have blocks of values, and join those of aligned powers of two of lanes.
  [[nodiscard]] __device__ A combine_long(std::int64_t count, const ColumnOffsets& row,
                                          const CompactReduction& reduction) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t blocks = (count + kBlockValues - 1) / kBlockValues;
    std::int64_t each = 1;
    while (each * kWarp < blocks) each *= 2;
    const auto block = [&](std::int64_t b) {
      A sum[] = {at(b * kBlockValues, row)};
#pragma unroll 4
      for (std::int64_t v = b * kBlockValues + 1; v < min((b + 1) * kBlockValues, count); ++v) {
        const A next[] = {at(v, row)};
        combine_each(reduction, sum, next);
      }
      return sum[0];
    };
    A sum{};
    if (lane * each < blocks)
      sum = join_blocks<A, 1>(block, lane * each, min((lane + 1) * each, blocks), reduction);
    for (int step = 1; step < kWarp && step * each < blocks; step *= 2) {
      const A next = of_lane(sum, (lane + step) % kWarp);
      if (lane % (2 * step) == 0 && (lane + step) * each < blocks)
        sum = combine(reduction, sum, next);
    }
    return sum;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_across_kernel(const __grid_constant__ SortedRows call,
                          const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  constexpr int kTogether = 4;
  const std::int64_t first = call.position();
  const std::uint32_t key = first < call.sorted.end ? call.sorted.key[first] : call.sorted.none;
  const bool has_key = key != call.sorted.none && !call.is_of(first - 1, key);
  std::byte* const element = has_key ? call.elements.at(key) : nullptr;
  // With the element itself.
  const std::int64_t count = has_key ? end_of_key(call, first, key) - first + 1 : 0;
  const bool is_short = has_key && count <= kBlockValues;
  // Of as many updates, all threads of a warp have the same rows.
  const unsigned long_lanes =
      call.sorted.end >= kBlockValues ? __ballot_sync(kAllLanes, count > kBlockValues) : 0;
  if (!is_short && long_lanes == 0) return;
  const auto store = [&](std::byte* to, A sum, std::int64_t number) {
    store_element(to, finished<T>(reduction.reduce, sum, number), true);
  };
  call.visit<kTogether>([&](const auto& at, const auto& exists) {
    if (is_short) {
      const RowValues<T> values{call, first, element};
      A sum[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) sum[k] = values.at(0, at[k]);
#pragma unroll 2
      for (std::int64_t v = 1; v < count; ++v) {
        const std::byte* const value = call.values.at(call.update[first + v - 1]);
        A next[kTogether];
#pragma unroll
        for (int k = 0; k < kTogether; ++k) next[k] = values.load(value + at[k].from);
        combine_each(reduction, sum, next);
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (exists(k)) store(element + at[k].to, sum[k], count);
    }
    for (unsigned rest = long_lanes; rest != 0; rest &= rest - 1) {
      const int lane = __ffs(static_cast<int>(rest)) - 1;
      std::byte* const of_element = of_lane(element, lane);
      const std::int64_t number = of_lane(count, lane);
      const RowValues<T> values{call, of_lane(first, lane), of_element};
      for (int k = 0; k < kTogether && exists(k); ++k) {
        const A sum = values.combine_long(number, at[k], reduction);
        if (threadIdx.x % kWarp == 0) store(of_element + at[k].to, sum, number);
      }
    }
  });
}

SortedRows sorted_rows(const ScatterCall& call, const void* keys, const void* updates) {
  return {sorted_keys(call, static_cast<const std::uint32_t*>(keys)),
          static_cast<const std::uint32_t*>(updates),
          update_values(call.args),
          target_elements(call.args),
          {LoopOffsets(call.args.columns), call.columns, true},
          groups_of(call.count, 1, kThreads)};
}

/// Each thread has several rows, however few of the keys have most updates.
Grid grid_of(const ScatterCall& call, const ThreadGroups& threads) {
  constexpr std::int64_t kRows = 16;
  constexpr std::int64_t kMostParts = 65535;
  Grid grid{ceil_divide(call.count, threads.lanes())};
  const std::int64_t parts = ceil_divide(call.columns, kRows * (kThreads >> threads.bits));
  grid.parts = static_cast<int>(std::min(parts, kMostParts));
  return grid;
}

}  // namespace

bool is_across(const ScatterCall& call) {
  constexpr std::int64_t kLeastRows = 1024;
  constexpr std::int64_t kLeastValues = std::int64_t{1} << 20;
  constexpr std::int64_t kLeastBytes = 64;  // from row to row: shorter ones share their sectors
  // Of more values of a key, few threads of a warp add long runs.
  constexpr std::int64_t kMostOfKey = 4;
  constexpr std::int64_t kMostUpdates = std::int64_t{1} << 16;
  const ScatterArgs& args = call.args;
  const Loop<2>& columns = args.columns;
  if (call.columns < kLeastRows || call.columns < kLeastValues / call.count || args.keys.ndim != 1)
    return false;
  if (args.reduce != GPUKERN_REDUCE_NONE &&
      (call.count > kMostUpdates || call.count / kMostOfKey > args.n))
    return false;
  const auto step = [](std::int64_t stride) { return std::abs(stride); };
  const std::int64_t between = step(columns.stride[kTargetColumn][columns.ndim - 1]);
  return between >= kLeastBytes && step(args.keys.stride[0][0]) < between &&
         std::has_single_bit(static_cast<std::uint64_t>(args.item)) && args.item <= kWordBytes &&
         is_aligned(args, args.item);
}

void scatter_put_across(const ScatterCall& call, const void* keys, const void* updates) {
  const SortedRows rows = sorted_rows(call, keys, updates);
  visit_word(call.args.item, [&](auto word) {
    launch(put_across_kernel<decltype(word)>, grid_of(call, rows.threads), call.stream, rows);
  });
}

void scatter_reduce_across(const ScatterCall& call, const void* keys, const void* updates) {
  const ScatterArgs& args = call.args;
  const SortedRows rows = sorted_rows(call, keys, updates);
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(combine_across_kernel<T>, grid_of(call, rows.threads), call.stream, rows,
           CompactReduction{reduction_of(args.reduce, args.dtype)});
  });
}

}  // namespace gpukern::gpu

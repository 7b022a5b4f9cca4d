// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sorted updates along the innermost axis, of many rows by one index: a thread has a key, and
// neighbouring threads those of neighbouring elements.

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "cuda/common/join.cuh"
#include "cuda/common/reduction.cuh"
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

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_across_kernel(const __grid_constant__ SortedRows call,
                          const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  constexpr int kTogether = 4;
  const std::int64_t first = call.position();
  if (first >= call.sorted.end) return;
  const std::uint32_t key = call.sorted.key[first];
  if (key == call.sorted.none || call.is_of(first - 1, key)) return;
  const std::int64_t values = end_of_key(call, first, key) - first + 1;  // with the element itself
  std::byte* const element = call.elements.at(key);
  const auto load = [&](const std::byte* at) {
    return A{widened(*reinterpret_cast<const T*>(at))};
  };
  const auto value_at = [&](std::int64_t value) {  // of the sequence
    return call.values.at(call.update[first + value - 1]);
  };
  call.visit<kTogether>([&](const auto& at, const auto& exists) {
    A sum[kTogether];
    if (values <= kBlockValues) {
#pragma unroll
      for (int k = 0; k < kTogether; ++k) sum[k] = load(element + at[k].to);
#pragma unroll 2
      for (std::int64_t v = 1; v < values; ++v) {
        const std::byte* const value = value_at(v);
        A next[kTogether];
#pragma unroll
        for (int k = 0; k < kTogether; ++k) next[k] = load(value + at[k].from);
        combine_each(reduction, sum, next);
      }
    } else {
      for (int k = 0; k < kTogether; ++k) {
        const auto block = [&](std::int64_t b) {
          const std::int64_t begin = b * kBlockValues;
          A joined[] = {b == 0 ? load(element + at[k].to) : load(value_at(begin) + at[k].from)};
          for (std::int64_t v = begin + 1; v < min(begin + kBlockValues, values); ++v) {
            const A next[] = {load(value_at(v) + at[k].from)};
            combine_each(reduction, joined, next);
          }
          return joined[0];
        };
        sum[k] = join_blocks<A, 1>(block, 0, (values + kBlockValues - 1) / kBlockValues, reduction);
      }
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      if (exists(k))
        store_element(element + at[k].to, finished<T>(reduction.reduce, sum[k], values), true);
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

/// For threads that have `together` rows at a time.
Grid grid_of(const ScatterCall& call, const ThreadGroups& threads, int together) {
  constexpr std::int64_t kMostParts = 65535;
  const std::int64_t blocks = ceil_divide(call.count, threads.lanes());
  const std::int64_t rows = std::int64_t{together} * (kThreads >> threads.bits);
  const std::int64_t parts =
      std::min(ceil_divide(call.columns, rows), ceil_divide(2 * resident_grid(), blocks));
  Grid grid{blocks};
  grid.parts = static_cast<int>(std::clamp<std::int64_t>(parts, 1, kMostParts));
  return grid;
}

}  // namespace

bool is_across(const ScatterCall& call) {
  constexpr std::int64_t kLeastRows = 1024;
  constexpr std::int64_t kLeastValues = std::int64_t{1} << 20;
  constexpr std::int64_t kLeastBytes = 64;  // from row to row: shorter ones share their sectors
  // Of fewer rows, long sequences of one key would take long, each by a thread.
  constexpr std::int64_t kManyRows = std::int64_t{1} << 15;
  constexpr std::int64_t kFewUpdates = 1024;
  const ScatterArgs& args = call.args;
  const Loop<2>& columns = args.columns;
  if (call.columns < kLeastRows || call.columns < kLeastValues / call.count || args.keys.ndim != 1)
    return false;
  if (args.reduce != GPUKERN_REDUCE_NONE && call.columns < kManyRows && call.count > kFewUpdates)
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
    launch(put_across_kernel<decltype(word)>, grid_of(call, rows.threads, kWordsInFlight),
           call.stream, rows);
  });
}

void scatter_reduce_across(const ScatterCall& call, const void* keys, const void* updates) {
  const ScatterArgs& args = call.args;
  const SortedRows rows = sorted_rows(call, keys, updates);
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    launch(combine_across_kernel<T>, grid_of(call, rows.threads, 4), call.stream, rows,
           CompactReduction{reduction_of(args.reduce, args.dtype)});
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sorted updates along the innermost axis, of many rows by one index: a thread has the updates of a
// key in several rows, or a block of kBlockValues of them, and neighbouring threads those of
// neighbouring elements.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cub/block/block_scan.cuh>

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
  ThreadGroups threads;  ///< for consecutive updates or blocks; other groups have other rows

  /// Of this thread's update or block.
  [[nodiscard]] __device__ std::int64_t number() const {
    return std::int64_t{blockIdx.x} * threads.lanes() + threads.lane();
  }
  [[nodiscard]] __device__ bool is_of(std::int64_t at, std::uint32_t key) const {
    return at >= 0 && at < sorted.end && sorted.key[at] == key;
  }
  /// Calls visit(offsets, row) for several rows at a time, whose numbers are row(k): those past the
  /// end have the offsets of the last one.
  template <int kTogether, class Visit>
  __device__ void visit(const Visit& visit) const {
    const std::int64_t groups = std::int64_t{gridDim.y} * (kThreads >> threads.bits);
    const std::int64_t group =
        std::int64_t{blockIdx.y} * (kThreads >> threads.bits) + threads.in_block();
    for (std::int64_t first = group; first < rows.count; first += groups * kTogether) {
      ColumnOffsets at[kTogether];
      rows.find(first, groups, at);
      visit(at, [&](int k) { return first + k * groups; });
    }
  }
};

template <class W>
__global__ void __launch_bounds__(kThreads)
    put_across_kernel(const __grid_constant__ SortedRows call) {
  const std::int64_t position = call.number();
  if (position >= call.sorted.end) return;
  const std::uint32_t key = call.sorted.key[position];
  if (key == call.sorted.none || call.is_of(position + 1, key)) return;
  const std::byte* const value = call.values.at(call.update[position]);
  std::byte* const element = call.elements.at(key);
  call.visit<kWordsInFlight>([&](const auto& at, const auto& row) {
    W word[kWordsInFlight];
#pragma unroll
    for (int k = 0; k < kWordsInFlight; ++k)
      word[k] = *reinterpret_cast<const W*>(value + at[k].from);
#pragma unroll
    for (int k = 0; k < kWordsInFlight; ++k)
      if (row(k) < call.rows.count) *reinterpret_cast<W*>(element + at[k].to) = word[k];
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

__global__ void __launch_bounds__(kThreads)
    find_blocks_kernel(const __grid_constant__ SortedRows call, KeyBlocks blocks) {
  using Scan = cub::BlockScan<unsigned, kThreads>;
  __shared__ typename Scan::TempStorage memory;
  __shared__ unsigned begin;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint32_t key = first < call.sorted.end ? call.sorted.key[first] : call.sorted.none;
  const bool has_key = key != call.sorted.none && !call.is_of(first - 1, key);
  const std::int64_t values = has_key ? end_of_key(call, first, key) - first + 1 : 0;
  const auto number = static_cast<unsigned>((values + kBlockValues - 1) / kBlockValues);
  unsigned place;
  unsigned all;
  Scan(memory).ExclusiveSum(number, place, all);
  if (threadIdx.x == 0) begin = atomicAdd(&blocks.numbers->blocks, all);
  __syncthreads();
  // Indices that have changed since they were checked may not be sorted, and have more blocks.
  const auto fits = [number](unsigned at, unsigned most) {
    return at <= most && number <= most - at;
  };
  unsigned part = KeyBlock::kOnly;
  if (number > 1 && fits(begin + place, blocks.most.blocks)) {
    part = atomicAdd(&blocks.numbers->parts, number);
    if (fits(part, blocks.most.parts))
      blocks.long_keys[atomicAdd(&blocks.numbers->long_keys, 1U)] = begin + place;
    else
      part = KeyBlock::kOnly;
  }
  for (unsigned b = 0; b < number && begin + place + b < blocks.most.blocks; ++b) {
    const std::int64_t value = b * kBlockValues;  // value 0 is the element
    blocks.blocks[begin + place + b] = {
        .key = key,
        .begin = static_cast<std::uint32_t>(first + max(value - 1, std::int64_t{0})),
        .end = static_cast<std::uint32_t>(first + min(value + kBlockValues, values) - 1),
        .values = static_cast<std::uint32_t>(values),
        .part = part == KeyBlock::kOnly ? part : part + b,
        .has_element = b == 0};
  }
}

template <class T>
__device__ Accumulator<T> load_value(const std::byte* at) {
  return widened(*reinterpret_cast<const T*>(at));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    combine_across_kernel(const __grid_constant__ SortedRows call, KeyBlocks blocks,
                          const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  constexpr int kTogether = 4;
  const std::int64_t number = call.number();
  if (number >= min(blocks.numbers->blocks, blocks.most.blocks)) return;
  const KeyBlock block = blocks.blocks[number];
  std::byte* const element = call.elements.at(block.key);
  A* const combined = reinterpret_cast<A*>(blocks.combined);
  const auto value = [&](std::uint32_t update) { return call.values.at(call.update[update]); };
  call.visit<kTogether>([&](const auto& at, const auto& row) {
    A sum[kTogether];
    const std::byte* const first = block.has_element ? nullptr : value(block.begin);
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      sum[k] = load_value<T>(block.has_element ? element + at[k].to : first + at[k].from);
#pragma unroll 2
    for (std::uint32_t v = block.begin + (block.has_element ? 0 : 1); v < block.end; ++v) {
      const std::byte* const from = value(v);
      A next[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) next[k] = load_value<T>(from + at[k].from);
      combine_each(reduction, sum, next);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (row(k) >= call.rows.count) continue;
      if (block.part == KeyBlock::kOnly)
        store_element(element + at[k].to, finished<T>(reduction.reduce, sum[k], block.values),
                      true);
      else
        combined[block.part * call.rows.count + row(k)] = sum[k];
    }
  });
}

/// Joins the blocks of a key: a thread has a row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    join_across_kernel(const __grid_constant__ SortedRows call, KeyBlocks blocks,
                       const __grid_constant__ CompactReduction reduction) {
  using A = Accumulator<T>;
  const std::int64_t row = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= call.rows.count) return;
  ColumnOffsets at[1];
  call.rows.find(row, 1, at);
  for (unsigned k = blockIdx.y; k < blocks.numbers->long_keys; k += gridDim.y) {
    const KeyBlock first = blocks.blocks[blocks.long_keys[k]];
    const A* const parts =
        reinterpret_cast<const A*>(blocks.combined) + first.part * call.rows.count + row;
    const auto block = [&](std::int64_t b) { return parts[b * call.rows.count]; };
    const A sum =
        join_blocks<A>(block, 0, (first.values + kBlockValues - 1) / kBlockValues, reduction);
    store_element(call.elements.at(first.key) + at[0].to,
                  finished<T>(reduction.reduce, sum, first.values), true);
  }
}

/// Of threads for `number` updates or blocks at most.
SortedRows sorted_rows(const ScatterCall& call, const void* keys, const void* updates,
                       std::int64_t number) {
  return {sorted_keys(call, static_cast<const std::uint32_t*>(keys)),
          static_cast<const std::uint32_t*>(updates),
          update_values(call.args),
          target_elements(call.args),
          {LoopOffsets(call.args.columns), call.columns, true},
          groups_of(number, 1, kThreads)};
}

/// Each thread has several rows, fewer if that occupies the GPU.
Grid grid_of(const SortedRows& rows, std::int64_t number) {
  constexpr std::int64_t kLeastRows = 4;
  constexpr std::int64_t kMostRows = 16;
  constexpr std::int64_t kMostParts = 65535;
  Grid grid{ceil_divide(number, rows.threads.lanes())};
  const std::int64_t groups = kThreads >> rows.threads.bits;
  const std::int64_t parts = std::max(
      ceil_divide(rows.rows.count, kMostRows * groups),
      std::min(ceil_divide(rows.rows.count, kLeastRows * groups), resident_grid() / grid.blocks));
  grid.parts = static_cast<int>(std::min(parts, kMostParts));
  return grid;
}

/// The most that sorted updates can have.
KeyBlocks::Numbers most_numbers(const ScatterCall& call) {
  const std::int64_t long_keys = call.count / kBlockValues;
  return {.blocks = static_cast<unsigned>(std::min(call.count, call.args.keys.count()) + long_keys),
          .parts = static_cast<unsigned>(2 * long_keys),
          .long_keys = static_cast<unsigned>(long_keys)};
}

}  // namespace

bool is_across(const ScatterCall& call) {
  constexpr std::int64_t kLeastRows = 1024;
  constexpr std::int64_t kLeastValues = std::int64_t{1} << 20;
  constexpr std::int64_t kLeastBytes = 64;  // from row to row: shorter ones share their sectors
  constexpr std::int64_t kMostUpdates = std::int64_t{1} << 20;
  const ScatterArgs& args = call.args;
  const Loop<2>& columns = args.columns;
  if (call.count < 2 || call.columns < kLeastRows || call.columns < kLeastValues / call.count ||
      args.keys.ndim != 1 || has_wide_keys(call))
    return false;
  if (args.reduce != GPUKERN_REDUCE_NONE && call.count > kMostUpdates) return false;
  const auto step = [](std::int64_t stride) { return std::abs(stride); };
  const std::int64_t between = step(columns.stride[kTargetColumn][columns.ndim - 1]);
  const bool reads_most = args.reduce != GPUKERN_REDUCE_NONE && args.n < call.count;
  const std::int64_t of_rows =
      reads_most ? step(columns.stride[kValueColumn][columns.ndim - 1]) : between;
  return of_rows >= kLeastBytes && step(args.keys.stride[0][0]) < between &&
         std::has_single_bit(static_cast<std::uint64_t>(args.item)) && args.item <= kWordBytes &&
         is_aligned(args, args.item);
}

KeyBlocks lay_out_key_blocks(ScratchLayout& layout, const ScatterCall& call) {
  KeyBlocks blocks{};
  blocks.most = most_numbers(call);
  blocks.numbers = layout.take<KeyBlocks::Numbers>(1);
  blocks.blocks = layout.take<KeyBlock>(blocks.most.blocks);
  blocks.long_keys = layout.take<std::uint32_t>(blocks.most.long_keys);
  blocks.combined =
      layout.take(blocks.most.parts * call.columns, accumulator_bytes(call.args.dtype));
  return blocks;
}

void scatter_put_across(const ScatterCall& call, const void* keys, const void* updates) {
  const SortedRows rows = sorted_rows(call, keys, updates, call.count);
  visit_word(call.args.item, [&](auto word) {
    launch(put_across_kernel<decltype(word)>, grid_of(rows, call.count), call.stream, rows);
  });
}

void scatter_reduce_across(const ScatterCall& call, const void* keys, const void* updates,
                           const KeyBlocks& blocks) {
  const ScatterArgs& args = call.args;
  const SortedRows rows = sorted_rows(call, keys, updates, blocks.most.blocks);
  check(cudaMemsetAsync(blocks.numbers, 0, sizeof *blocks.numbers, call.stream), "cudaMemsetAsync");
  launch(find_blocks_kernel, ceil_divide(call.count, kThreads), call.stream, rows, blocks);
  Grid joins{ceil_divide(call.columns, kThreads)};
  joins.parts = static_cast<int>(blocks.most.long_keys);
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    const CompactReduction reduction{reduction_of(args.reduce, args.dtype)};
    launch(combine_across_kernel<T>, grid_of(rows, blocks.most.blocks), call.stream, rows, blocks,
           reduction);
    if (joins.parts > 0) launch(join_across_kernel<T>, joins, call.stream, rows, blocks, reduction);
  });
}

}  // namespace gpukern::gpu

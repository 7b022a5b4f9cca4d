// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <type_traits>

#include "cuda/scatter/blocks.cuh"
#include "cuda/scatter/rows.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kRowThreads = 128;
constexpr int kPositions = 128;

/// Values that a thread has in flight.
constexpr int kInFlight = 4;

/// Combines the values of one block, for kCount neighbouring columns.
template <class T, int kCount, class Key>
__device__ void combine_columns(const RowColumns<kCount>& columns, std::int64_t column,
                                const std::byte* own, const UpdateValues& values, const Key* update,
                                int count, gpukern_reduce reduce, Accumulator<T> (&sum)[kCount]) {
  using A = Accumulator<T>;
  const auto load = [&](const std::byte* from, A(&to)[kCount]) {
    load_columns<T>(from, columns.aligned, to);
  };
  const std::int64_t from = columns.value_offset(column);
  int done = 0;
  if (own != nullptr)
    load(own + columns.target_offset(column), sum);
  else
    load(values.at(update[done++]) + from, sum);
  for (; done < count; done += kInFlight) {
    A next[kInFlight][kCount];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (done + k < count) load(values.at(update[done + k]) + from, next[k]);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (done + k < count)
#pragma unroll
        for (int c = 0; c < kCount; ++c) sum[c] = combine(reduce, sum[c], next[k][c]);
  }
}

template <class T, int kCount, class Key>
__global__ void __launch_bounds__(kRowThreads)
    reduce_rows_kernel(const SortedKeys<Key> sorted, const Key* updates,
                       const __grid_constant__ UpdateValues values,
                       const __grid_constant__ TargetElements elements,
                       const __grid_constant__ RowColumns<kCount> columns, int lanes,
                       gpukern_reduce reduce, LongKeys long_keys) {
  using A = Accumulator<T>;
  using RowChunk = Chunk<Key, kPositions, kRowThreads>;
  __shared__ RowChunk chunk;
  __shared__ Key update[kPositions + RowChunk::kReach];
  __shared__ std::uint16_t starts[kPositions];
  __shared__ int number;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPositions;
  if (threadIdx.x == 0) number = 0;
  for (int i = threadIdx.x; i < kPositions + RowChunk::kReach; i += kRowThreads)
    if (begin + i < sorted.count) update[i] = updates[begin + i];
  chunk.load(sorted, begin);
  __syncthreads();
  for (int i = threadIdx.x; i < kPositions; i += kRowThreads)
    if (chunk.start[i] != kNoStart)
      starts[atomicAdd(&number, 1)] = static_cast<std::uint16_t>(i);  // in any order
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (int s = static_cast<int>(threadIdx.x) / lanes; s < number; s += kRowThreads / lanes) {
    const int i = starts[s];
    const bool first = chunk.start[i] == kFirstBlock;
    const Key key = chunk.key[i];
    const int most = RowChunk::kReach - (first ? 1 : 0);
    int count = 1;
    while (count < most && chunk.key[i + count] == key) ++count;
    const bool is_long = first && count == most && chunk.key[i + count] == key;
    if (is_long && lane == 0) long_keys.firsts[atomicAdd(long_keys.number, 1)] = begin + i;
    std::byte* const row = elements.at(key);
    A* const block = reinterpret_cast<A*>(first ? long_keys.first_blocks : long_keys.later_blocks) +
                     (begin + i) / kBlockValues * columns.count;
    for (std::int64_t column = std::int64_t{lane} * kCount; column < columns.count;
         column += std::int64_t{lanes} * kCount) {
      A sum[kCount];
      combine_columns<T>(columns, column, first ? row : nullptr, values, update + i, count, reduce,
                         sum);
      if (is_long || !first)
#pragma unroll
        for (int c = 0; c < kCount; ++c) block[column + c] = sum[c];
      else
        store_columns<T>(row + columns.target_offset(column), columns.aligned, reduce, count + 1,
                         sum);
    }
  }
}

template <class T, int kCount, class Key>
void launch_rows(const ScatterCall& call, const void* keys, const void* updates,
                 const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  const RowColumns<kCount> columns{args.columns, call.columns, is_aligned(args, alignof(T))};
  const auto groups = static_cast<std::uint64_t>(ceil_divide(call.columns, kCount));
  const int lanes = static_cast<int>(std::min<std::uint64_t>(std::bit_ceil(groups), 32));
  launch(reduce_rows_kernel<T, kCount, Key>, Grid{ceil_divide(call.count, kPositions), kRowThreads},
         call.stream,
         SortedKeys<Key>{static_cast<const Key*>(keys), call.count,
                         static_cast<Key>(args.keys.count())},
         static_cast<const Key*>(updates), update_values(args), target_elements(args), columns,
         lanes, args.reduce, long_keys);
}

}  // namespace

void scatter_reduce_rows(const ScatterCall& call, const SortPlan& plan, const void* keys,
                         const void* updates, const LongKeys& long_keys) {
  visit_reduced_dtype(call.args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVector = sizeof(T) < 4 ? 4 : kPerWord<T>;
    const bool vectors = has_column_vectors<T, kVector>(call.args, call.columns);
    if (plan.wide_keys)
      launch_rows<T, 1, std::uint64_t>(call, keys, updates, long_keys);
    else if (vectors)
      launch_rows<T, kVector, std::uint32_t>(call, keys, updates, long_keys);
    else
      launch_rows<T, 1, std::uint32_t>(call, keys, updates, long_keys);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/blocks.cuh"
#include "cuda/scatter/combine_columns.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kRowThreads = 128;
constexpr int kPositions = 256;

/// Values that a thread has in flight.
constexpr int kInFlight = 4;

template <class T, int kCount, class Key>
__global__ void __launch_bounds__(kRowThreads)
    reduce_rows_kernel(const SortedKeys<Key> sorted, const Key* updates,
                       const __grid_constant__ UpdateValues values,
                       const __grid_constant__ TargetElements elements,
                       const __grid_constant__ RowColumns<kCount> columns, int lanes,
                       const __grid_constant__ Reduction reduction, LongKeys long_keys) {
  using A = Accumulator<T>;
  using RowChunk = Chunk<Key, kPositions, kRowThreads>;
  __shared__ RowChunk chunk;
  __shared__ Key update[kPositions + RowChunk::kReach];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPositions;
  for (int i = threadIdx.x; i < kPositions + RowChunk::kReach; i += kRowThreads)
    if (begin + i < sorted.end) update[i] = updates[begin + i];
  chunk.load(sorted, begin);
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (int b = static_cast<int>(threadIdx.x) / lanes; b < chunk.number; b += kRowThreads / lanes) {
    const ValueBlock block = chunk[b];
    const int count = block.end - block.begin;
    const bool whole = block.first && block.is_last;
    if (!whole && lane == 0 && blockIdx.y == 0) long_keys.note(chunk, b, begin);
    std::byte* const row = elements.at(chunk.key[block.begin]);
    for (std::int64_t column = columns.begin() + std::int64_t{lane} * kCount;
         column < columns.end(); column += std::int64_t{lanes} * kCount) {
      A sum[kCount];
      combine_columns<T, kInFlight>(columns, column, block.first ? row : nullptr, values,
                                    update + block.begin, count, reduction, sum);
      if (whole) {
        store_columns<T>(row + columns.target_offset(column), columns.aligned, reduction.reduce,
                         count + 1, sum);
        continue;
      }
      A* const part = long_keys.block<A>(block.first, begin + block.begin, columns.count) + column;
#pragma unroll
      for (int c = 0; c < kCount; ++c) part[c] = sum[c];
    }
  }
}

template <class T, int kCount, class Key>
void launch_rows(const ScatterCall& call, const void* keys, const void* updates,
                 const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  RowColumns<kCount> columns{args.columns, call.columns, is_aligned(args, alignof(T))};
  const int lanes = lanes_of(ceil_divide(call.columns, kCount));
  const Grid grid =
      divide_columns(columns, lanes, {ceil_divide(call.count, kPositions), kRowThreads});
  launch(reduce_rows_kernel<T, kCount, Key>, grid, call.stream,
         sorted_keys(call, static_cast<const Key*>(keys)), static_cast<const Key*>(updates),
         update_values(args), target_elements(args), columns, lanes,
         reduction_of(args.reduce, args.dtype), long_keys);
}

}  // namespace

void scatter_reduce_rows(const ScatterCall& call, const SortPlan& plan, const void* keys,
                         const void* updates, const LongKeys& long_keys) {
  visit_combined_type(call.args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVector = kVectorColumns<T>;
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

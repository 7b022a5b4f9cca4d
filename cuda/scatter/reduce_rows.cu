// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/blocks.cuh"
#include "cuda/scatter/combine_columns.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kRowThreads = 128;
constexpr int kPositions = 256;

/// Accesses to values that a thread has in flight.
template <bool kAny>
constexpr int kInFlight = kAny ? 2 : 4;

template <class T, int kCount, bool kAny, class Key>
__global__ void __launch_bounds__(kRowThreads, resident_blocks(kAny ? 6 : 7, kRowThreads))
    reduce_rows_kernel(const SortedKeys<Key> sorted, const Key* updates,
                       const __grid_constant__ UpdateValues values,
                       const __grid_constant__ SpreadElements elements,
                       const __grid_constant__ UpdateColumns<kCount, kAny> columns,
                       ThreadGroups threads, const __grid_constant__ Reduction reduction,
                       LongKeys long_keys) {
  using A = Accumulator<T>;
  using RowChunk = Chunk<Key, kPositions, kRowThreads>;
  __shared__ RowChunk chunk;
  __shared__ Key update[kPositions + RowChunk::kReach];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPositions;
  for (int i = threadIdx.x; i < kPositions + RowChunk::kReach; i += kRowThreads)
    if (begin + i < sorted.end) update[i] = updates[begin + i];
  chunk.load(sorted, begin);
  __syncthreads();
  for (int b = threads.in_block(); b < chunk.number; b += kRowThreads >> threads.bits) {
    const ValueBlock block = chunk[b];
    const int count = block.end - block.begin;
    const bool whole = block.first && block.is_last;
    if (!whole && threads.lane() == 0 && blockIdx.y == 0) long_keys.note(chunk, b, begin);
    std::byte* const row = elements.at(chunk.key[block.begin]);
    columns.visit(threads, [&](const ThreadColumns<kCount, kAny>& own) {
      A sum[kCount];
      combine_columns<T, kInFlight<kAny>>(own, block.first ? row : nullptr, values,
                                          update + block.begin, count, reduction, sum);
      if (whole) return own.template store<T>(row, reduction.reduce, count + 1, sum);
      A* const part = long_keys.block<A>(block.first, begin + block.begin, columns.count);
#pragma unroll
      for (int c = 0; c < kCount; ++c)
        if (own.exists(c)) part[own.column(c)] = sum[c];
    });
  }
}

template <class T, int kCount, bool kAny, class Key>
void launch_rows(const ScatterCall& call, const SortPlan& plan, const void* keys,
                 const void* updates, const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  auto columns = update_columns<kCount, kAny>(args.columns, is_aligned(args, alignof(T)));
  const ThreadGroups threads = groups_of(ceil_divide(call.columns, kCount));
  const Grid grid =
      divide_columns(columns, threads, {ceil_divide(call.count, kPositions), kRowThreads});
  SortedKeys<Key> sorted = sorted_keys(call, static_cast<const Key*>(keys));
  if (plan.by_tiles) sorted.none = Key{1} << plan.spread.bits();
  launch(reduce_rows_kernel<T, kCount, kAny, Key>, grid, call.stream, sorted,
         static_cast<const Key*>(updates), update_values(args),
         SpreadElements{target_elements(args), plan.spread}, columns, threads,
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
      launch_rows<T, kVector, true, std::uint64_t>(call, plan, keys, updates, long_keys);
    else if (vectors)
      launch_rows<T, kVector, false, std::uint32_t>(call, plan, keys, updates, long_keys);
    else
      launch_rows<T, kVector, true, std::uint32_t>(call, plan, keys, updates, long_keys);
  });
}

}  // namespace gpukern::gpu

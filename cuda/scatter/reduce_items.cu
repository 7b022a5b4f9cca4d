// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/indexing.cuh"
#include "cuda/common/reduction.cuh"
#include "cuda/scatter/blocks.cuh"
#include "cuda/scatter/slices.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

/// Positions of a chunk: its keys, values and elements fill a part of the shared memory.
template <class T>
constexpr int kPositions = sizeof(T) == 8 ? 1024 : 2048;

/// `kReduce` is the most common reduction, or GPUKERN_REDUCE_NONE for the one in `any`.
template <class T, gpukern_reduce kReduce>
__global__ void __launch_bounds__(kThreads, resident_blocks(sizeof(T) > 4 ? 4 : 5, kThreads))
    reduce_items_kernel(const SortedKeys<Key> all, const __grid_constant__ Slices slices,
                        const Carried<T>* values, const __grid_constant__ TargetElements elements,
                        bool aligned, const __grid_constant__ Reduction any, LongKeys long_keys) {
  constexpr bool kAny = kReduce == GPUKERN_REDUCE_NONE;
  const Reduction reduction = kAny ? any : Reduction{kReduce, 0};
  using A = Accumulator<T>;
  constexpr int kChunk = kPositions<T>;
  using ItemChunk = Chunk<Key, kChunk, kThreads>;
  __shared__ ItemChunk chunk;
  __shared__ Carried<T> value[kChunk + ItemChunk::kReach];
  __shared__ alignas(A) std::byte memory[kChunk * sizeof(A)];
  A* const own = reinterpret_cast<A*>(memory);  // written and read by the same thread
  wait_for_previous();
  launch_next();
  visit_sorted<kChunk>(all, slices, [&](const SortedKeys<Key>& sorted, std::int64_t begin) {
    for (int i = threadIdx.x; i < kChunk + ItemChunk::kReach; i += kThreads)
      if (begin + i < sorted.end) value[i] = values[begin + i];
    chunk.load(sorted, begin);
    __syncthreads();
    // All loads from the target before the first use.
#pragma unroll
    for (int e = 0; e < ItemChunk::kEach; ++e) {
      const int b = e * kThreads + threadIdx.x;
      if (b < chunk.number && chunk.is_first[b])
        own[b] = widened(load_element<T>(elements.at(chunk.key[chunk.start[b]]), aligned));
    }
#pragma unroll 1
    for (int b = threadIdx.x; b < chunk.number; b += kThreads) {
      const ValueBlock block = chunk[b];
      A sum = block.first ? own[b] : carried_value<T>(value[block.begin]);
      for (int i = block.first ? block.begin : block.begin + 1; i < block.end; ++i)
        sum = combine(reduction, sum, carried_value<T>(value[i]));
      if (block.first && block.is_last) {
        store_element(elements.at(chunk.key[block.begin]),
                      finished<T>(reduction.reduce, sum, block.end - block.begin + 1), aligned);
        continue;
      }
      long_keys.note(chunk, b, begin);
      long_keys.block<A>(block.first, begin + block.begin, 1)[0] = sum;
    }
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    put_items_kernel(const SortedKeys<Key> all, const __grid_constant__ Slices slices,
                     const Carried<T>* values, const __grid_constant__ TargetElements elements,
                     bool aligned) {
  visit_sorted<kThreads>(all, slices, [&](const SortedKeys<Key>& sorted, std::int64_t begin) {
    const std::int64_t at = begin + threadIdx.x;
    if (at >= sorted.end) return;
    const Key key = sorted.key[at];
    if (key == sorted.none || (at + 1 < sorted.end && sorted.key[at + 1] == key)) return;
    store_element(elements.at(key), static_cast<T>(values[at]), aligned);
  });
}

/// The thread blocks of a kernel that visits the sorted updates.
std::int64_t sorted_blocks(const ScatterCall& call, const Slices& slices, std::int64_t length) {
  return slices.count == 0 ? ceil_divide(call.count, length) : resident_grid();
}

}  // namespace

void scatter_reduce_items(const ScatterCall& call, const Slices& slices, const std::uint32_t* keys,
                          const void* values, const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  const SortedKeys<Key> sorted = sorted_keys(call, keys);
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= 8)
      launch(
          args.reduce == GPUKERN_REDUCE_ADD ? reduce_items_kernel<T, GPUKERN_REDUCE_ADD>
                                            : reduce_items_kernel<T, GPUKERN_REDUCE_NONE>,
          Grid{.blocks = sorted_blocks(call, slices, kPositions<T>), .programmatic_launch = true},
          call.stream, sorted, slices, static_cast<const Carried<T>*>(values),
          target_elements(args), is_aligned(args, alignof(T)),
          reduction_of(args.reduce, args.dtype), long_keys);
  });
}

void scatter_put_items(const ScatterCall& call, const Slices& slices, const std::uint32_t* keys,
                       const void* values) {
  const ScatterArgs& args = call.args;
  const SortedKeys<Key> sorted = sorted_keys(call, keys);
  visit_index_width(static_cast<std::int32_t>(args.item), [&](auto word) {
    using T = decltype(word);
    launch(put_items_kernel<T>, sorted_blocks(call, slices, kThreads), call.stream, sorted, slices,
           static_cast<const Carried<T>*>(values), target_elements(args),
           is_aligned(args, sizeof(T)));
  });
}

}  // namespace gpukern::gpu

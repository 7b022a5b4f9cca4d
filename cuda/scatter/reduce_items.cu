// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <type_traits>

#include "cuda/common/indexing.cuh"
#include "cuda/scatter/blocks.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kPositions = 2048;
constexpr int kEach = kPositions / kThreads;
using Key = std::uint32_t;
using ItemChunk = Chunk<Key, kPositions, kThreads>;

/// A value as it moves with its key.
template <class T>
using Carried = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
__device__ Accumulator<T> carried_value(Carried<T> bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return widened(value);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    reduce_items_kernel(const SortedKeys<Key> sorted, const Carried<T>* values,
                        const __grid_constant__ TargetElements elements, bool aligned,
                        gpukern_reduce reduce, LongKeys long_keys) {
  using A = Accumulator<T>;
  __shared__ ItemChunk chunk;
  __shared__ Carried<T> value[kPositions + ItemChunk::kReach];
  __shared__ alignas(A) std::byte memory[kPositions * sizeof(A)];
  A* const own = reinterpret_cast<A*>(memory);  // written and read by the same thread
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPositions;
  for (int i = threadIdx.x; i < kPositions + ItemChunk::kReach; i += kThreads)
    if (begin + i < sorted.count) value[i] = values[begin + i];
  chunk.load(sorted, begin);
  __syncthreads();
  // All loads from the target before the first use.
#pragma unroll
  for (int e = 0; e < kEach; ++e) {
    const int i = e * kThreads + threadIdx.x;
    if (chunk.start[i] == kFirstBlock)
      own[i] = widened(load_element<T>(elements.at(chunk.key[i]), aligned));
  }
#pragma unroll 1
  for (int i = threadIdx.x; i < kPositions; i += kThreads) {
    const std::uint8_t start = chunk.start[i];
    if (start == kNoStart) continue;
    const bool first = start == kFirstBlock;
    const Key key = chunk.key[i];
    A sum = first ? own[i] : carried_value<T>(value[i]);
    const int end = i + ItemChunk::kReach - (first ? 1 : 0);
    int at = first ? i : i + 1;
    for (; at < end && chunk.key[at] == key; ++at)
      sum = combine(reduce, sum, carried_value<T>(value[at]));
    const std::int64_t slot = (begin + i) / kBlockValues;
    if (!first) {
      reinterpret_cast<A*>(long_keys.later_blocks)[slot] = sum;
    } else if (at == end && chunk.key[at] == key) {
      reinterpret_cast<A*>(long_keys.first_blocks)[slot] = sum;
      long_keys.firsts[atomicAdd(long_keys.number, 1)] = begin + i;
    } else {
      store_element(elements.at(key), finished<T>(reduce, sum, at - i + 1), aligned);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    put_items_kernel(const SortedKeys<Key> sorted, const Carried<T>* values,
                     const __grid_constant__ TargetElements elements, bool aligned) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= sorted.count) return;
  const Key key = sorted.key[at];
  if (key == sorted.none || (at + 1 < sorted.count && sorted.key[at + 1] == key)) return;
  store_element(elements.at(key), static_cast<T>(values[at]), aligned);
}

}  // namespace

void scatter_reduce_items(const ScatterCall& call, const std::uint32_t* keys, const void* values,
                          const LongKeys& long_keys) {
  const ScatterArgs& args = call.args;
  const SortedKeys<Key> sorted{keys, call.count, static_cast<Key>(args.keys.count())};
  visit_reduced_dtype(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= 8)
      launch(reduce_items_kernel<T>, ceil_divide(call.count, kPositions), call.stream, sorted,
             static_cast<const Carried<T>*>(values), target_elements(args),
             is_aligned(args, alignof(T)), args.reduce, long_keys);
  });
}

void scatter_put_items(const ScatterCall& call, const std::uint32_t* keys, const void* values) {
  const ScatterArgs& args = call.args;
  const SortedKeys<Key> sorted{keys, call.count, static_cast<Key>(args.keys.count())};
  visit_index_width(static_cast<std::int32_t>(args.item), [&](auto word) {
    using T = decltype(word);
    launch(put_items_kernel<T>, ceil_divide(call.count, kThreads), call.stream, sorted,
           static_cast<const Carried<T>*>(values), target_elements(args),
           is_aligned(args, sizeof(T)));
  });
}

}  // namespace gpukern::gpu

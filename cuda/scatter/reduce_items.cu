// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/indexing.cuh"
#include "cuda/scatter/reduce_items.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

/// `kReduce` is the most common reduction, or GPUKERN_REDUCE_NONE for the one in `any`.
template <class T, gpukern_reduce kReduce>
__global__ void __launch_bounds__(kThreads, resident_blocks(sizeof(T) > 4 ? 4 : 5, kThreads))
    reduce_items_kernel(const SortedKeys<Key> all, const __grid_constant__ Slices slices,
                        const Carried<T>* values, const __grid_constant__ SpreadElements elements,
                        bool aligned, const __grid_constant__ Reduction any, LongKeys long_keys) {
  constexpr bool kAny = kReduce == GPUKERN_REDUCE_NONE;
  const Reduction reduction = kAny ? any : Reduction{kReduce, 0};
  __shared__ ItemChunk<T> chunk;
  wait_for_previous();
  launch_next();
  visit_sorted<kPositions<T>>(all, slices, [&](const SortedKeys<Key>& sorted, std::int64_t begin) {
    chunk.reduce(sorted, begin, values, elements, aligned, reduction, long_keys);
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
          SpreadElements{target_elements(args), {}}, is_aligned(args, alignof(T)),
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

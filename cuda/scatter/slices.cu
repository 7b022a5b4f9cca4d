// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/common/indexing.cuh"
#include "cuda/scatter/slices.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

__global__ void __launch_bounds__(kThreads)
    find_slices_kernel(const SortedKeys<Key> sorted, Slices slices) {
  const std::int64_t slice = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (slice < Slices::kLists) slices.number[slice] = 0;
  if (slice > slices.count) return;
  std::int64_t begin = 0;
  for (std::int64_t end = sorted.end; begin < end;) {
    const std::int64_t middle = (begin + end) / 2;
    const bool less = sorted.key[middle] >> slices.bits < slice;
    (less ? begin : end) = less ? middle + 1 : middle;
  }
  slices.starts[slice] = static_cast<std::uint32_t>(begin);
}

/// The slice of a warp.
struct OwnSlice {
  std::uint32_t number = blockIdx.x;
  std::int64_t begin;
  std::int64_t end;
  Key base;

  __device__ explicit OwnSlice(const Slices& slices)
      : begin(slices.starts[number]), end(slices.ends[number]), base(number << slices.bits) {}

  /// Whether the warp takes its updates. Notes a long slice.
  [[nodiscard]] __device__ bool is_taken(const SortedKeys<Key>& sorted,
                                         const Slices& slices) const {
    if (begin == end || base >= sorted.none) return false;
    const bool is_long = end - begin > 2 * slices.chunk;
    if (is_long) note_long(slices);
    return !is_long;
  }

  __device__ void note_long(const Slices& slices) const {
    const auto chunks = static_cast<unsigned>((end - begin + slices.chunk - 1) / slices.chunk);
    const bool several = chunks > 1;
    unsigned at = 0;
    if (threadIdx.x == 0)
      at = several ? slices.take_chunks(chunks) : atomicAdd(slices.number + Slices::kOnlyChunks, 1);
    at = __shfl_sync(~0U, at, 0);
    SliceChunk* const list = several ? slices.chunks : slices.only_chunks;
    for (unsigned c = threadIdx.x; c < chunks; c += 32) list[at + c] = {number, c};
  }
};

/// The keys of a slice in shared memory, each with a value and the number of its updates.
template <class A>
struct SliceMemory {
  static_assert(kBlockValues <= 256, "number counts the values of one block");
  A* value;
  std::uint8_t* number;
  int keys;

  __device__ SliceMemory(const Slices& slices, std::byte* memory)
      : value(reinterpret_cast<A*>(memory)),
        number(reinterpret_cast<std::uint8_t*>(value + (1 << slices.bits))),
        keys(1 << slices.bits) {}
  __device__ void clear() const {
    for (int i = threadIdx.x; i < keys / 4; i += 32)
      reinterpret_cast<std::uint32_t*>(number)[i] = 0;
  }
};

/// What a slice takes of shared memory, in bytes.
std::size_t slice_bytes(const Slices& slices, std::size_t value_bytes) {
  return (value_bytes + 1) << slices.bits;
}

/// Elements that a thread loads before it uses them.
constexpr int kLoads = 16;

/// `kReduce` is the most common reduction, or GPUKERN_REDUCE_NONE for the one in `any`.
template <class T, gpukern_reduce kReduce>
__global__ void __launch_bounds__(32)
    combine_slices_kernel(const SortedKeys<Key> sorted, const Carried<T>* values,
                          const __grid_constant__ Slices slices,
                          const __grid_constant__ TargetElements elements, bool aligned,
                          const __grid_constant__ Reduction any) {
  constexpr bool kAny = kReduce == GPUKERN_REDUCE_NONE;
  const Reduction reduction = kAny ? any : Reduction{kReduce, 0};
  using A = Accumulator<T>;
  using Batch = UpdateBatch<Carried<T>>;
  extern __shared__ __align__(16) std::byte memory[];
  const OwnSlice slice(slices);
  if (!slice.is_taken(sorted, slices)) return;
  const int lane = static_cast<int>(threadIdx.x);
  const SliceMemory<A> own(slices, memory);
  const int keys = static_cast<int>(min(sorted.none - slice.base, static_cast<Key>(own.keys)));
  own.clear();
  const auto load = [&](int i) {
    return widened(load_element<T>(elements.at(slice.base + i), aligned));
  };
  // Of a slice with few updates, only their elements are loaded.
  const bool loads_all = (slice.end - slice.begin) * 8 >= keys;
  if (loads_all) {
    constexpr int kTogether = 4;
    static_assert(kLoads % kTogether == 0);
    for (int from = lane; from < keys; from += 32 * kLoads) {
      A loaded[kLoads];  // all before the first use
#pragma unroll
      for (int begin = 0; begin < kLoads; begin += kTogether) {
        OffsetsAt<1> at[kTogether];
        elements.keys.find(Positions<kTogether>(slice.base + from + 32 * begin, 32,
                                                std::int64_t{slice.base} + keys - 1)
                               .of,
                           at);
#pragma unroll
        for (int k = 0; k < kTogether; ++k)
          loaded[begin + k] = widened(load_element<T>(elements.target + at[k].offset[0], aligned));
      }
#pragma unroll
      for (int k = 0; k < kLoads; ++k)
        if (from + 32 * k < keys) own.value[from + 32 * k] = loaded[k];
    }
  }
  __syncwarp();
  bool fits = true;
  for (std::int64_t from = slice.begin; from < slice.end; from += Batch::kUpdates) {
    const Batch batch(sorted.key, values, from, slice.end);
#pragma unroll
    for (int k = 0; k < Batch::kCount; ++k) {
      const bool has_key = batch.inside[k] && batch.key[k] != sorted.none;
      const std::uint32_t at = batch.key[k] - slice.base;
      const EqualLanes equal = count_by_warp(has_key, own.number + at);
      const int rank = equal.rank();
      fits = fits && equal.after() < kBlockValues;
      if (has_key && rank == 0 && equal.before == 0 && !loads_all) own.value[at] = load(at);
      const A value = carried_value<T>(batch.value[k]);
      if (has_key && rank == 0) own.value[at] = combine(reduction, own.value[at], value);
      __syncwarp();
      if (!equal.repeats) continue;
      for (int turn = 1; __any_sync(~0U, rank >= turn); ++turn) {
        if (rank == turn) own.value[at] = combine(reduction, own.value[at], value);
        __syncwarp();
      }
    }
    if (__any_sync(~0U, !fits)) return slice.note_long(slices);
  }
  for (int i = lane; i < keys; i += 32)
    if (own.number[i] != 0)
      store_element(elements.at(slice.base + i),
                    finished<T>(reduction.reduce, own.value[i], own.number[i] + 1), aligned);
}

template <class T>
__global__ void __launch_bounds__(32)
    put_slices_kernel(const SortedKeys<Key> sorted, const Carried<T>* values,
                      const __grid_constant__ Slices slices,
                      const __grid_constant__ TargetElements elements, bool aligned) {
  using Batch = UpdateBatch<Carried<T>>;
  extern __shared__ __align__(16) std::byte memory[];
  const OwnSlice slice(slices);
  if (!slice.is_taken(sorted, slices)) return;
  const int lane = static_cast<int>(threadIdx.x);
  const SliceMemory<T> own(slices, memory);
  own.clear();
  __syncwarp();
  for (std::int64_t from = slice.begin; from < slice.end; from += Batch::kUpdates) {
    const Batch batch(sorted.key, values, from, slice.end);
#pragma unroll
    for (int k = 0; k < Batch::kCount; ++k) {
      const bool has_key = batch.inside[k] && batch.key[k] != sorted.none;
      const std::uint32_t at = batch.key[k] - slice.base;
      const EqualLanes equal = count_by_warp(has_key, own.number + at);
      if (equal.is_last()) {
        own.value[at] = static_cast<T>(batch.value[k]);
        own.number[at] = 1;
      }
      __syncwarp();
    }
  }
  for (int i = lane; i < own.keys; i += 32)
    if (own.number[i] != 0) store_element(elements.at(slice.base + i), own.value[i], aligned);
}

}  // namespace

void scatter_find_slices(const ScatterCall& call, const Slices& slices, const std::uint32_t* keys) {
  launch(find_slices_kernel,
         ceil_divide(std::max<std::int64_t>(slices.count + 1, Slices::kLists), kThreads),
         call.stream, sorted_keys(call, keys), slices);
}

void scatter_combine_slices(const ScatterCall& call, const Slices& slices,
                            const std::uint32_t* keys, const void* values) {
  const ScatterArgs& args = call.args;
  const SortedKeys<Key> sorted = sorted_keys(call, keys);
  if (args.reduce == GPUKERN_REDUCE_NONE)
    return visit_index_width(static_cast<std::int32_t>(args.item), [&](auto word) {
      using T = decltype(word);
      launch(put_slices_kernel<T>, Grid{slices.count, 32, slice_bytes(slices, sizeof(T))},
             call.stream, sorted, static_cast<const Carried<T>*>(values), slices,
             target_elements(args), is_aligned(args, sizeof(T)));
    });
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= 8)
      launch(args.reduce == GPUKERN_REDUCE_ADD ? combine_slices_kernel<T, GPUKERN_REDUCE_ADD>
                                               : combine_slices_kernel<T, GPUKERN_REDUCE_NONE>,
             Grid{slices.count, 32, slice_bytes(slices, sizeof(Accumulator<T>))}, call.stream,
             sorted, static_cast<const Carried<T>*>(values), slices, target_elements(args),
             is_aligned(args, alignof(T)), reduction_of(args.reduce, args.dtype));
  });
}

}  // namespace gpukern::gpu

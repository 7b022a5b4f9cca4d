// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cub/block/block_radix_sort.cuh>

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/key_of.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kFewThreads = 512;
constexpr int kFew = static_cast<int>(kScatterFew);
constexpr int kEach = kFew / kFewThreads;
constexpr int kBlock = static_cast<int>(kBlockValues);
constexpr int kBlocks = kFew / kBlock + 1;
static_assert(kEach * kFewThreads == kFew);

/// The updates, sorted by key in shared memory.
struct FewUpdates {
  using Sort = cub::BlockRadixSort<std::uint32_t, kFewThreads, kEach, std::uint16_t>;

  std::uint32_t key[kFew];
  std::uint16_t update[kFew];

  /// Whether the first or the last update of a key is at position p.
  [[nodiscard]] __device__ bool is_first(int p) const { return p == 0 || key[p - 1] != key[p]; }
  [[nodiscard]] __device__ bool is_last(int p) const {
    return p + 1 == kFew || key[p + 1] != key[p];
  }
  [[nodiscard]] __device__ bool has(int p, std::uint32_t wanted) const {
    return p < kFew && key[p] == wanted;
  }
  /// The first position whose key is not less than `wanted`.
  [[nodiscard]] __device__ int lower_bound(std::uint32_t wanted) const {
    int begin = 0;
    for (int end = kFew; begin < end;) {
      const int middle = (begin + end) / 2;
      if (key[middle] < wanted)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
};

/// The key of updates that are skipped, and of those that do not exist, is `none`, the largest.
/// Not inlined: one function sorts for the kernels of all types.
__device__ __noinline__ void sort_few(FewUpdates& few, FewUpdates::Sort::TempStorage& scratch,
                                      const KeyOf& key_of, int count, std::uint32_t none) {
  std::uint32_t key[kEach];
  std::uint16_t update[kEach];
  for (int e = 0; e < kEach; ++e) {
    const int u = static_cast<int>(threadIdx.x) * kEach + e;
    const std::int64_t found = u < count ? key_of(u) : -1;
    key[e] = found < 0 ? none : static_cast<std::uint32_t>(found);
    update[e] = static_cast<std::uint16_t>(u);
  }
  const int bits = max(1, 32 - __clz(static_cast<int>(none)));
  FewUpdates::Sort(scratch).Sort(key, update, 0, bits);
  for (int e = 0; e < kEach; ++e) {
    few.key[threadIdx.x * kEach + e] = key[e];
    few.update[threadIdx.x * kEach + e] = update[e];
  }
  __syncthreads();
}

/// The blocks of values, each combined by the thread at its first position.
template <class T>
struct FewValues {
  using A = Accumulator<T>;

  A value[kFew];  ///< in the order of the sorted updates
  // As in LongKeys: by position / kBlock, the blocks of keys that have several.
  A first_block[kBlocks];
  A later_block[kBlocks];
};

/// The block that starts at position p: the first of its key begins with the element.
template <class T>
__device__ void reduce_block(const FewUpdates& few, FewValues<T>& values, int p, std::byte* element,
                             bool aligned, const Reduction& reduction) {
  const std::uint32_t key = few.key[p];
  const bool is_first = few.is_first(p);
  auto sum = is_first ? widened(load_element<T>(element, aligned)) : values.value[p];
  int at = is_first ? p : p + 1;
  const int end = min(p + kBlock - (is_first ? 1 : 0), kFew);
  // Several at a time: their loads do not wait for each other.
  constexpr int kAtOnce = 8;
  for (; at + kAtOnce <= end && few.key[at + kAtOnce - 1] == key; at += kAtOnce)
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) sum = combine(reduction, sum, values.value[at + k]);
  for (; at < end && few.key[at] == key; ++at) sum = combine(reduction, sum, values.value[at]);
  if (!is_first)
    values.later_block[p / kBlock] = sum;
  else if (few.has(at, key))
    values.first_block[p / kBlock] = sum;
  else
    store_element(element, finished<T>(reduction.reduce, sum, at - p + 1), aligned);
}

/// Joins the blocks of the key whose first update is at position p.
template <class T>
__device__ void join_blocks(const FewUpdates& few, const FewValues<T>& values, int p,
                            std::byte* element, bool aligned, const Reduction& reduction) {
  const std::uint32_t key = few.key[p];
  Accumulator<T> block[kBlocks];
  block[0] = values.first_block[p / kBlock];
  int blocks = 1;
  for (int at = p + kBlock - 1; few.has(at, key); at += kBlock)
    block[blocks++] = values.later_block[at / kBlock];
  for (int step = 1; step < blocks; step *= 2)
    for (int b = 0; b + step < blocks; b += 2 * step)
      block[b] = combine(reduction, block[b], block[b + step]);
  const int number = few.lower_bound(key + 1) - p + 1;  // of values, with the element itself
  store_element(element, finished<T>(reduction.reduce, block[0], number), aligned);
}

template <class T>
__global__ void __launch_bounds__(kFewThreads)
    reduce_few_kernel(const __grid_constant__ KeyOf key_of,
                      const __grid_constant__ UpdateValues values,
                      const __grid_constant__ TargetElements elements, int count,
                      std::uint32_t none, bool aligned,
                      const __grid_constant__ Reduction reduction) {
  __shared__ FewUpdates few;
  __shared__ union Memory {
    FewUpdates::Sort::TempStorage sort;
    alignas(16) std::byte values[sizeof(FewValues<T>)];
  } memory;
  sort_few(few, memory.sort, key_of, count, none);
  auto& sorted = *reinterpret_cast<FewValues<T>*>(memory.values);
  for (int p = threadIdx.x; p < kFew; p += kFewThreads)
    if (few.key[p] != none)
      sorted.value[p] = widened(load_element<T>(values.at(few.update[p]), aligned));
  __syncthreads();
  for (int p = threadIdx.x; p < kFew; p += kFewThreads) {
    const std::uint32_t key = few.key[p];
    if (key == none) continue;
    if (!few.is_first(p)) {
      // A later block starts kBlock - 1 values, or that and more blocks, after the first update.
      if (p < kBlock - 1 || few.key[p - (kBlock - 1)] != key) continue;
      if ((p - few.lower_bound(key) + 1) % kBlock != 0) continue;
    }
    reduce_block(few, sorted, p, elements.at(key), aligned, reduction);
  }
  __syncthreads();
  for (int p = threadIdx.x; p < kFew; p += kFewThreads)
    if (few.key[p] != none && few.is_first(p) && few.has(p + kBlock - 1, few.key[p]))
      join_blocks(few, sorted, p, elements.at(few.key[p]), aligned, reduction);
}

/// Writes the last value of each key.
template <class W>
__global__ void __launch_bounds__(kFewThreads)
    put_few_kernel(const __grid_constant__ KeyOf key_of,
                   const __grid_constant__ UpdateValues values,
                   const __grid_constant__ TargetElements elements, int count, std::uint32_t none,
                   bool aligned) {
  __shared__ FewUpdates few;
  __shared__ FewUpdates::Sort::TempStorage sort;
  sort_few(few, sort, key_of, count, none);
  for (int p = threadIdx.x; p < kFew; p += kFewThreads)
    if (few.key[p] != none && few.is_last(p))
      store_element(elements.at(few.key[p]), load_element<W>(values.at(few.update[p]), aligned),
                    aligned);
}

}  // namespace

void scatter_few(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const Grid grid{1, kFewThreads};
  const auto count = static_cast<int>(call.count);
  const auto none = static_cast<std::uint32_t>(args.keys.count());
  if (args.reduce == GPUKERN_REDUCE_NONE) {
    visit_index_width(static_cast<std::int32_t>(args.item), [&](auto word) {
      launch(put_few_kernel<decltype(word)>, grid, call.stream, key_of(args), update_values(args),
             target_elements(args), count, none, is_aligned(args, sizeof(word)));
    });
    return;
  }
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= 8)
      launch(reduce_few_kernel<T>, grid, call.stream, key_of(args), update_values(args),
             target_elements(args), count, none, is_aligned(args, alignof(T)),
             reduction_of(args.reduce, args.dtype));
  });
}

}  // namespace gpukern::gpu

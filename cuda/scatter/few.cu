// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/key_of.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kFewThreads = 128;
constexpr int kMaxBlocks = static_cast<int>(kScatterFew / kBlockValues) + 1;
constexpr std::int64_t kSkipped = -1;

/// The keys of all updates, in shared memory.
__device__ void load_keys(const KeyOf& key_of, std::int64_t* key, int count) {
  for (int u = threadIdx.x; u < count; u += kFewThreads) key[u] = key_of(u);
  __syncthreads();
}

/// Whether one of the keys [begin, end) is equal to `wanted`.
__device__ bool contains(const std::int64_t* key, int begin, int end, std::int64_t wanted) {
  bool found = false;
  for (int u = begin; u < end; ++u) found = found || key[u] == wanted;
  return found;
}

/// Each thread has an update. That of the first one of a key combines all of them.
template <class T>
__global__ void __launch_bounds__(kFewThreads)
    reduce_few_kernel(const __grid_constant__ KeyOf key_of,
                      const __grid_constant__ UpdateValues values,
                      const __grid_constant__ TargetElements elements, int count, bool aligned,
                      gpukern_reduce reduce) {
  using A = Accumulator<T>;
  __shared__ std::int64_t key[kScatterFew];
  __shared__ alignas(A) std::byte memory[kScatterFew * sizeof(A)];
  A* const value = reinterpret_cast<A*>(memory);
  for (int u = threadIdx.x; u < count; u += kFewThreads)
    value[u] = widened(load_element<T>(values.at(static_cast<std::uint64_t>(u)), aligned));
  load_keys(key_of, key, count);
  const int mine = static_cast<int>(blockIdx.x) * kFewThreads + static_cast<int>(threadIdx.x);
  if (mine >= count || key[mine] == kSkipped || contains(key, 0, mine, key[mine])) return;
  std::byte* const element = elements.at(static_cast<std::uint64_t>(key[mine]));
  A block[kMaxBlocks];
  int blocks = 0;
  A sum = widened(load_element<T>(element, aligned));
  int number = 1;  // of values, with the element itself
  for (int u = mine; u < count; ++u) {
    if (key[u] != key[mine]) continue;
    if (number % kBlockValues == 0) {
      block[blocks++] = sum;
      sum = value[u];
    } else {
      sum = combine(reduce, sum, value[u]);
    }
    ++number;
  }
  block[blocks++] = sum;
  for (int step = 1; step < blocks; step *= 2)
    for (int b = 0; b + step < blocks; b += 2 * step)
      block[b] = combine(reduce, block[b], block[b + step]);
  store_element(element, finished<T>(reduce, block[0], number), aligned);
}

/// Each thread has an update, and writes it if it is the last one of its key.
template <class W>
__global__ void __launch_bounds__(kFewThreads)
    put_few_kernel(const __grid_constant__ KeyOf key_of,
                   const __grid_constant__ UpdateValues values,
                   const __grid_constant__ TargetElements elements, int count, bool aligned) {
  __shared__ std::int64_t key[kScatterFew];
  load_keys(key_of, key, count);
  const int mine = static_cast<int>(blockIdx.x) * kFewThreads + static_cast<int>(threadIdx.x);
  if (mine >= count || key[mine] == kSkipped || contains(key, mine + 1, count, key[mine])) return;
  store_element(elements.at(static_cast<std::uint64_t>(key[mine])),
                load_element<W>(values.at(static_cast<std::uint64_t>(mine)), aligned), aligned);
}

}  // namespace

void scatter_few(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const Grid grid{ceil_divide(call.count, kFewThreads), kFewThreads};
  const auto count = static_cast<int>(call.count);
  if (args.reduce == GPUKERN_REDUCE_NONE) {
    visit_index_width(static_cast<std::int32_t>(args.item), [&](auto word) {
      launch(put_few_kernel<decltype(word)>, grid, call.stream, key_of(args), update_values(args),
             target_elements(args), count, is_aligned(args, sizeof(word)));
    });
    return;
  }
  visit_reduced_dtype(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) <= 8)
      launch(reduce_few_kernel<T>, grid, call.stream, key_of(args), update_values(args),
             target_elements(args), count, is_aligned(args, alignof(T)), args.reduce);
  });
}

}  // namespace gpukern::gpu

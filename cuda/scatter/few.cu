// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/key_of.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kFewThreads = 128;
constexpr int kMaxBlocks = static_cast<int>(kScatterFew / kBlockValues) + 1;
constexpr std::uint32_t kSkipped = ~0U;  // no key, see has_wide_keys()

/// The keys of all updates, four of which a thread compares at once.
struct alignas(16) FewKeys {
  std::uint32_t key[kScatterFew];

  __device__ void load(const KeyOf& key_of, int count) {
    for (int u = threadIdx.x; u < kScatterFew; u += kFewThreads)
      key[u] = u < count ? static_cast<std::uint32_t>(key_of(u)) : kSkipped;
    __syncthreads();
  }

  /// Calls visit(u) for the updates in [begin, end) with the key `wanted`, in order.
  template <class Visit>
  __device__ void for_each(int begin, int end, std::uint32_t wanted, const Visit& visit) const {
    const auto* const words = reinterpret_cast<const uint4*>(key);
#pragma unroll 4
    for (int w = begin / 4; w < (end + 3) / 4; ++w) {
      const uint4 four = words[w];
      const bool any = four.x == wanted || four.y == wanted || four.z == wanted || four.w == wanted;
      if (!any) continue;
      for (int u = max(4 * w, begin); u < min(4 * w + 4, end); ++u)
        if (key[u] == wanted) visit(u);
    }
  }

  [[nodiscard]] __device__ bool contains(int begin, int end, std::uint32_t wanted) const {
    bool found = false;
    for_each(begin, end, wanted, [&](int) { found = true; });
    return found;
  }
};

/// Each thread has an update. That of the first one of a key combines all of them.
template <class T>
__global__ void __launch_bounds__(kFewThreads)
    reduce_few_kernel(const __grid_constant__ KeyOf key_of,
                      const __grid_constant__ UpdateValues values,
                      const __grid_constant__ TargetElements elements, int count, bool aligned,
                      gpukern_reduce reduce) {
  using A = Accumulator<T>;
  __shared__ FewKeys keys;
  __shared__ alignas(A) std::byte memory[kScatterFew * sizeof(A)];
  A* const value = reinterpret_cast<A*>(memory);
  for (int u = threadIdx.x; u < count; u += kFewThreads)
    value[u] = widened(load_element<T>(values.at(static_cast<std::uint64_t>(u)), aligned));
  keys.load(key_of, count);
  const int mine = static_cast<int>(blockIdx.x) * kFewThreads + static_cast<int>(threadIdx.x);
  if (mine >= count) return;
  const std::uint32_t key = keys.key[mine];
  if (key == kSkipped || keys.contains(0, mine, key)) return;
  std::byte* const element = elements.at(key);
  A block[kMaxBlocks];
  int blocks = 0;
  A sum = widened(load_element<T>(element, aligned));
  int number = 1;  // of values, with the element itself
  keys.for_each(mine, count, key, [&](int u) {
    if (number % kBlockValues == 0) {
      block[blocks++] = sum;
      sum = value[u];
    } else {
      sum = combine(reduce, sum, value[u]);
    }
    ++number;
  });
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
  __shared__ FewKeys keys;
  keys.load(key_of, count);
  const int mine = static_cast<int>(blockIdx.x) * kFewThreads + static_cast<int>(threadIdx.x);
  if (mine >= count) return;
  const std::uint32_t key = keys.key[mine];
  if (key == kSkipped || keys.contains(mine + 1, count, key)) return;
  store_element(elements.at(key),
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

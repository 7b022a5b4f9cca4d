// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/warp.cuh"
#include "cuda/scatter/key_of.cuh"

namespace gpukern::gpu {
namespace {

/// Updates that a thread has in flight.
constexpr int kInFlight = 4;

/// Whether no higher lane has the same key. To compare all lanes takes long: only where neighbours
/// are equal and keys are not sorted, as those of which one is frequent. All threads of a warp call
/// this.
__device__ bool is_last_of_warp(std::int64_t key) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool has_next = lane + 1 < kWarp;
  const std::int64_t next = __shfl_down_sync(kAllLanes, key, 1);
  if (__any_sync(kAllLanes, has_next && next == key) == 0) return true;
  if (__all_sync(kAllLanes, !has_next || next >= key) != 0) return !has_next || next != key;
  return __match_any_sync(kAllLanes, static_cast<unsigned long long>(key)) >> lane == 1;
}

/// From the last update to the first one: most of the others of a key that repeats find a later
/// update in the table, and spare the atomic operation, as do all but the last one of a warp.
__global__ void __launch_bounds__(kThreads)
    find_last_kernel(const __grid_constant__ KeyOf key_of, std::int64_t count,
                     std::uint32_t* last) {
  const std::int64_t block = std::int64_t{gridDim.x} - 1 - std::int64_t{blockIdx.x};
  const std::int64_t first = block * kThreads * kInFlight + threadIdx.x;
  std::int64_t key[kInFlight];
  key_of.find(first, kThreads, count, key);
  std::uint32_t found[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) found[k] = key[k] < 0 ? 0 : __ldcg(last + key[k]);
#pragma unroll
  for (int k = kInFlight - 1; k >= 0; --k) {
    const auto number = static_cast<std::uint32_t>(first + k * kThreads) + 1;
    const bool is_later = key[k] >= 0 && found[k] < number;
    if (__any_sync(kAllLanes, is_later) != 0 && is_last_of_warp(key[k]) && is_later)
      atomicMax(last + key[k], number);
  }
}

}  // namespace

void scatter_find_last(const ScatterCall& call, std::uint32_t* last) {
  const auto bytes = static_cast<std::size_t>(call.args.keys.count()) * sizeof *last;
  check(cudaMemsetAsync(last, 0, bytes, call.stream), "cudaMemsetAsync");
  launch(find_last_kernel, ceil_divide(call.count, kThreads * kInFlight), call.stream,
         key_of(call.args), call.count, last);
}

}  // namespace gpukern::gpu

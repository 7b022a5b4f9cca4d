// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cub/device/device_radix_sort.cuh>

#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {
namespace {

/// With scratch == nullptr, sets `bytes` to the size of the scratch memory.
template <class Key, class Payload, class Count>
void sort_pairs(const SortPlan& plan, const SortArrays& arrays, std::int64_t count,
                std::size_t& bytes, cudaStream_t stream) {
  check(cub::DeviceRadixSort::SortPairs(
            arrays.scratch, bytes, static_cast<const Key*>(arrays.keys),
            static_cast<Key*>(arrays.sorted_keys), static_cast<const Payload*>(arrays.payload),
            static_cast<Payload*>(arrays.sorted_payload), static_cast<Count>(count),
            plan.slice_bits, plan.bits, stream),
        "cub::DeviceRadixSort::SortPairs");
}

void sort_any(const SortPlan& plan, const SortArrays& arrays, std::int64_t count,
              std::size_t& bytes, cudaStream_t stream) {
  if (plan.wide_keys)
    sort_pairs<std::uint64_t, std::uint64_t, std::uint64_t>(plan, arrays, count, bytes, stream);
  else if (plan.payload_bytes == 8)
    sort_pairs<std::uint32_t, std::uint64_t, std::uint32_t>(plan, arrays, count, bytes, stream);
  else
    sort_pairs<std::uint32_t, std::uint32_t, std::uint32_t>(plan, arrays, count, bytes, stream);
}

}  // namespace

std::size_t scatter_sort_bytes(const SortPlan& plan, std::int64_t count) {
  std::size_t bytes = 0;
  sort_any(plan, {}, count, bytes, nullptr);
  return bytes;
}

void scatter_sort(const SortPlan& plan, const SortArrays& arrays, std::int64_t count,
                  cudaStream_t stream) {
  std::size_t bytes = arrays.scratch_bytes;
  sort_any(plan, arrays, count, bytes, stream);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather without any check of the indices, which is the bound of a direct gather and the reference
// result; and thrust::gather.

#include <thrust/execution_policy.h>
#include <thrust/gather.h>

#include "api.cuh"

namespace bench {
namespace {

constexpr int kItemsPerThread = 4;

/// An item per lane, kItemsPerThread of them in flight.
template <class Item, class Index>
__global__ void unchecked_kernel(const Item* source, const Index* index, Item* out,
                                 std::int64_t n) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads * kItemsPerThread) + threadIdx.x;
  Index at[kItemsPerThread];
  Item value[kItemsPerThread];
#pragma unroll
  for (int k = 0; k < kItemsPerThread; ++k)
    at[k] = first + k * kThreads < n ? __ldcs(index + first + k * kThreads) : Index{0};
#pragma unroll
  for (int k = 0; k < kItemsPerThread; ++k) value[k] = source[at[k]];
#pragma unroll
  for (int k = 0; k < kItemsPerThread; ++k)
    if (first + k * kThreads < n) out[first + k * kThreads] = value[k];
}

/// Rows of `width` chunks; one chunk per thread, whole warps along a row.
template <class Chunk, class Index>
__global__ void unchecked_rows_kernel(const Chunk* source, const Index* index, Chunk* out,
                                      std::int64_t chunks, std::int64_t width) {
  const std::int64_t t = item();
  if (t >= chunks) return;
  const std::int64_t row = t / width;
  out[t] = source[static_cast<std::int64_t>(index[row]) * width + (t - row * width)];
}

template <class Body>
void with_item(int item_bytes, Body&& body) {
  switch (item_bytes) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    case 8:
      return body(std::uint64_t{});
    case 16:
      return body(uint4{});
    default:
      throw std::invalid_argument("an item has 1, 2, 4, 8 or 16 bytes");
  }
}

}  // namespace
}  // namespace bench

using bench::guard;
using bench::with_index;
using bench::with_item;

/// out[i] = source[index[i]] for items of 1, 2, 4, 8 or 16 bytes.
BENCH_API int bench_gather_unchecked(int item_bytes, int index_bytes, const void* source,
                                     const void* index, void* out, std::int64_t n, void* stream) {
  return guard([&] {
    with_item(item_bytes, [&](auto item_type) {
      with_index(index_bytes, [&](auto index_type) {
        using Item = decltype(item_type);
        using Index = decltype(index_type);
        const std::int64_t threads = (n + bench::kItemsPerThread - 1) / bench::kItemsPerThread;
        bench::launch(bench::unchecked_kernel<Item, Index>, threads, stream,
                      static_cast<const Item*>(source), static_cast<const Index*>(index),
                      static_cast<Item*>(out), n);
      });
    });
  });
}

/// The same by thrust::gather.
BENCH_API int bench_gather_thrust(int item_bytes, int index_bytes, const void* source,
                                  const void* index, void* out, std::int64_t n, void* stream) {
  return guard([&] {
    with_item(item_bytes, [&](auto item_type) {
      with_index(index_bytes, [&](auto index_type) {
        using Item = decltype(item_type);
        using Index = decltype(index_type);
        const auto* map = static_cast<const Index*>(index);
        thrust::gather(thrust::cuda::par_nosync.on(static_cast<cudaStream_t>(stream)), map, map + n,
                       static_cast<const Item*>(source), static_cast<Item*>(out));
      });
    });
  });
}

/// Rows of row_bytes each, moved in the widest chunks that divide them.
BENCH_API int bench_gather_rows(std::int64_t row_bytes, int index_bytes, const void* source,
                                const void* index, void* out, std::int64_t rows, void* stream) {
  return guard([&] {
    const int chunk_bytes =
        row_bytes % 16 == 0 ? 16 : (row_bytes % 8 == 0 ? 8 : (row_bytes % 4 == 0 ? 4 : 1));
    with_item(chunk_bytes, [&](auto chunk_type) {
      with_index(index_bytes, [&](auto index_type) {
        using Chunk = decltype(chunk_type);
        using Index = decltype(index_type);
        const std::int64_t width = row_bytes / static_cast<std::int64_t>(sizeof(Chunk));
        bench::launch(bench::unchecked_rows_kernel<Chunk, Index>, rows * width, stream,
                      static_cast<const Chunk*>(source), static_cast<const Index*>(index),
                      static_cast<Chunk*>(out), rows * width, width);
      });
    });
  });
}

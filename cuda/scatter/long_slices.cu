// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/long_slices.cuh"

namespace gpukern::gpu {
namespace {

using Key = std::uint32_t;

__device__ void count_keys(const Slices& slices, const Key* keys, const SliceRange& range,
                           std::uint32_t* count) {
  using Batch = UpdateBatch<std::uint32_t>;
  const Key mask = (1U << slices.bits) - 1;
  for (std::int64_t from = range.begin; from < range.end; from += Batch::kUpdates) {
    const Batch batch(keys, nullptr, from, range.end);
#pragma unroll
    for (int k = 0; k < Batch::kCount; ++k) {
      const Key at = batch.key[k] & mask;
      count_by_warp(batch.inside[k], count + at);
    }
  }
}

/// Counts the keys of the chunks of slices with several.
__global__ void __launch_bounds__(32)
    count_chunks_kernel(const __grid_constant__ Slices slices, const Key* keys) {
  extern __shared__ std::uint32_t count[];
  const std::int64_t number = std::int64_t{1} << slices.bits;
  for (std::int64_t chunk = blockIdx.x; chunk < slices.number[Slices::kChunks];
       chunk += gridDim.x) {
    for (std::int64_t i = threadIdx.x; i < number; i += 32) count[i] = 0;
    __syncwarp();
    count_keys(slices, keys, range_of_chunk(slices, chunk), count);
    for (std::int64_t i = threadIdx.x; i < number; i += 32)
      slices.counts[chunk * number + i] = count[i];
    __syncwarp();
  }
}

__global__ void __launch_bounds__(kThreads)
    sum_chunks_kernel(const __grid_constant__ Slices slices) {
  __shared__ ChunkSums sums;
  wait_for_previous();
  launch_next();
  const std::int64_t number = slices.number[Slices::kHeads] * ChunkSums::groups(slices);
  for (std::int64_t work = blockIdx.x; work < number; work += gridDim.x) sums.add(slices, work);
}

template <class Payload>
__global__ void __launch_bounds__(kTileThreads)
    place_chunks_kernel(const __grid_constant__ Slices slices,
                        const UpdateArrays<Payload> updates) {
  extern __shared__ __align__(16) std::byte memory[];
  __shared__ TileScan::TempStorage scan;
  wait_for_previous();
  launch_next();
  const std::int64_t number = slices.all_chunks();
  for (std::int64_t chunk = blockIdx.x; chunk < number; chunk += gridDim.x)
    place_chunk(slices, chunk, updates, memory, scan);
}

std::size_t tile_bytes(int payload_bytes, int bits) {
  return payload_bytes == 8 ? Tile<std::uint64_t>::bytes(bits) : Tile<std::uint32_t>::bytes(bits);
}

}  // namespace

int most_slice_bits(int payload_bytes) {
  const auto most = static_cast<std::size_t>(device_facts().shared_bytes - kDeclaredSharedBytes);
  int bits = 12;
  while (bits > 0 && tile_bytes(payload_bytes, bits) > most) --bits;
  return bits;
}

void scatter_count_long_slices(const ScatterCall& call, const Slices& slices,
                               const std::uint32_t* keys) {
  launch(count_chunks_kernel, Grid{2 * resident_grid(), 32, sizeof(std::uint32_t) << slices.bits},
         call.stream, slices, keys);
}

void scatter_sort_long_slices(const ScatterCall& call, const SortPlan& plan, const Slices& slices,
                              const SortArrays& arrays) {
  const auto sort = [&]<class Payload>(Payload) {
    const UpdateArrays<Payload> updates{
        static_cast<const Key*>(arrays.keys), static_cast<const Payload*>(arrays.payload),
        static_cast<Key*>(arrays.sorted_keys), static_cast<Payload*>(arrays.sorted_payload)};
    launch(sum_chunks_kernel, Grid{.blocks = resident_grid(), .programmatic_launch = true},
           call.stream, slices);
    launch(place_chunks_kernel<Payload>,
           Grid{.blocks = resident_grid(),
                .threads = kTileThreads,
                .shared_bytes = tile_bytes(plan.payload_bytes, slices.bits),
                .programmatic_launch = true},
           call.stream, slices, updates);
  };
  if (plan.payload_bytes == 8)
    sort(std::uint64_t{});
  else
    sort(std::uint32_t{});
}

}  // namespace gpukern::gpu

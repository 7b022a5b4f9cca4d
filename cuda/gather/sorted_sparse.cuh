// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Items far apart in a long source. If their indices are sorted, DRAM is faster the smaller the
// part of the source is that the loads in flight cover, since its banks change pages less often:
// few threads are fastest. All other indices, including those of dense blocks, need many threads.
// So a sample of the indices chooses between two kernels on the device.
#pragma once

#include "cuda/gather/items.cuh"

namespace gpukern::gpu {

/// In device memory.
struct SortedSample {
  bool sorted;
  unsigned taken;  ///< work tiles that blocks have taken
};

/// Compares kSampleRun neighbouring indices at each of kSampleRuns evenly spaced positions: whether
/// most of these runs are sorted and increase by at least `least`.
template <class Raw>
__global__ void __launch_bounds__(kSampleRuns)
    sorted_sparse_sample_kernel(const Raw* index, std::int64_t count, Raw least,
                                SortedSample* sample) {
  wait_for_previous();
  launch_next();
  const Raw* const from = index + (count - kSampleRun) / (kSampleRuns - 1) * threadIdx.x;
  Raw raw[kSampleRun];
#pragma unroll
  for (int k = 0; k < kSampleRun; ++k) raw[k] = from[k];
  bool sorted = static_cast<Raw>(raw[kSampleRun - 1] - raw[0]) >= least;
#pragma unroll
  for (int k = 1; k < kSampleRun; ++k) sorted = sorted && raw[k] > raw[k - 1];
  const int runs = __syncthreads_count(sorted);
  if (threadIdx.x == 0) *sample = {runs > kSampleRuns / 2, 0};
}

/// All items if the sample is sorted.
template <class Item, class Raw>
__global__ void __launch_bounds__(kSortedSparseThreads)
    gather_sorted_sparse_kernel(const __grid_constant__ ItemArgs args,
                                const __grid_constant__ Bounds<Raw> bounds,
                                const __grid_constant__ Fill fill, SortedSample* sample) {
  wait_for_previous();
  if (!sample->sorted) return;
  constexpr int kVectors = kSortedSparseItems / kVectorItems<Item>;
  gather_persistent<Item, Raw, kVectors, kSortedSparseThreads>(
      args, bounds, fill, CachePolicy(args.evict_first), 0, false, &sample->taken);
}

/// All items if it is not.
template <class Item, class Raw>
__global__ void gather_not_sorted_sparse_kernel(const __grid_constant__ ItemArgs args,
                                                const __grid_constant__ Bounds<Raw> bounds,
                                                const __grid_constant__ Fill fill,
                                                const SortedSample* sample) {
  wait_for_previous();
  // The loads of the indices and of the sample are in flight together.
  ItemVectors<Item, Raw, kVectorItems<Item>, kItemVectors> vectors(args, blockIdx.x,
                                                                   CachePolicy(args.evict_first));
  if (!sample->sorted) vectors.gather(bounds, fill);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Items far apart in a long source. Where their indices rise, DRAM answers the faster the shorter
// the stretch of the source is that is asked for at a time: banks go from page to page less often.
// Few threads do that then; all other indices, also those of dense blocks, want many. So a sample
// of the indices chooses between two kernels.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/gather/items.cuh"

namespace gpukern::gpu {

/// In device memory.
struct Rise {
  bool rising;
  unsigned taken;  ///< pieces that blocks have taken
};

inline constexpr int kRiseSpots = 256;
inline constexpr int kRiseSpot = 4;  ///< neighbouring indices

/// H200, sorted float32 items 256 bytes apart, per nanosecond: 1024 items on a multiprocessor 53.8,
/// 512 and 2048 35.6 and 46.0, by blocks of 256 threads 45.2 and 45.4; single items by a thread
/// each 45.5, by the kernel of vectors 40.0.
inline constexpr int kRisingThreads = 128;
inline constexpr int kRisingBlocks = 2;  ///< on a multiprocessor
inline constexpr int kRisingItems = 4;   ///< of a thread

/// Looks at so many spots of the index, evenly apart: whether it rises by `least` at most of them.
template <class Raw>
__global__ void __launch_bounds__(kRiseSpots)
    rise_sample_kernel(const Raw* index, std::int64_t count, Raw least, Rise* rise) {
  wait_for_previous();
  let_next_start();
  const Raw* const from = index + (count - kRiseSpot) / (kRiseSpots - 1) * threadIdx.x;
  Raw raw[kRiseSpot];
#pragma unroll
  for (int k = 0; k < kRiseSpot; ++k) raw[k] = from[k];
  bool rises = static_cast<Raw>(raw[kRiseSpot - 1] - raw[0]) >= least;
#pragma unroll
  for (int k = 1; k < kRiseSpot; ++k) rises = rises && raw[k] > raw[k - 1];
  const int spots = __syncthreads_count(rises);
  if (threadIdx.x == 0) *rise = {spots > kRiseSpots / 2, 0};
}

/// All items if the index rises.
template <class Item, class Raw>
__global__ void __launch_bounds__(kRisingThreads)
    gather_rising_kernel(const __grid_constant__ ItemArgs args,
                         const __grid_constant__ Bounds<Raw> bounds,
                         const __grid_constant__ Fill fill, Rise* rise) {
  wait_for_previous();
  if (!rise->rising) return;
  constexpr int kVectors = kRisingItems / kVectorItems<Item>;
  gather_pieces<Item, Raw, kVectors, kRisingThreads>(
      args, bounds, fill, StreamPolicy(args.source_stays), 0, false, &rise->taken);
}

/// All items if it does not.
template <class Item, class Raw>
__global__ void gather_not_rising_kernel(const __grid_constant__ ItemArgs args,
                                         const __grid_constant__ Bounds<Raw> bounds,
                                         const __grid_constant__ Fill fill, const Rise* rise) {
  wait_for_previous();
  // The indices are on their way while the question is.
  ItemVectors<Item, Raw, kVectorItems<Item>, kItemVectors> vectors(args, blockIdx.x,
                                                                   StreamPolicy(args.source_stays));
  if (!rise->rising) vectors.gather(bounds, fill);
}

}  // namespace gpukern::gpu

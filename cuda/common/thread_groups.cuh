// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Groups of threads that share the columns of a row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"

namespace gpukern::gpu {

/// Groups of neighbouring threads, a power of two in each: a group works on one row at a time.
struct ThreadGroups {
  int bits;

  [[nodiscard]] __host__ __device__ int lanes() const { return 1 << bits; }
  [[nodiscard]] __device__ int lane() const {
    return static_cast<int>(threadIdx.x) & (lanes() - 1);
  }
  /// The number of this thread's group in its block, or in all of them.
  [[nodiscard]] __device__ int in_block() const { return static_cast<int>(threadIdx.x) >> bits; }
  [[nodiscard]] __device__ std::int64_t in_grid() const {
    return std::int64_t{blockIdx.x} * (static_cast<int>(blockDim.x) >> bits) + in_block();
  }
  /// The blocks of kThreads that hold this number of groups.
  [[nodiscard]] std::int64_t blocks(std::int64_t groups) const {
    return ceil_divide(groups * lanes(), kThreads);
  }

  // Of groups within a warp:

  /// The lanes of the warp that are this thread's group.
  [[nodiscard]] __device__ unsigned mask() const {
    const unsigned first = threadIdx.x % kWarp - static_cast<unsigned>(lane());
    return (kAllLanes >> (kWarp - lanes())) << first;
  }
  /// The first thread's value.
  [[nodiscard]] __device__ std::int64_t agreed(std::int64_t value) const {
    return bits == 0 ? value : __shfl_sync(mask(), value, 0, lanes());
  }
};

/// Those of rows whose columns take this number of accesses.
inline ThreadGroups groups_of(std::int64_t accesses, std::uint64_t least = 1,
                              std::uint64_t most = kWarp) {
  const std::uint64_t lanes =
      std::clamp(std::bit_ceil(static_cast<std::uint64_t>(accesses)), least, most);
  return {std::countr_zero(lanes)};
}

}  // namespace gpukern::gpu

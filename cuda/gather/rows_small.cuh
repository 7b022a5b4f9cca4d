// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// For a few words of rows, where the latency of a thread limits the speed, not the number of loads
// in flight.
#pragma once

#include <cstdint>

#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {

/// The parameters that indices in bounds at the first outer position do not need.
struct OuterArgs {
  std::int64_t stride;
  std::uint32_t total;              ///< words in out
  FastDivmod<std::uint32_t> count;  ///< rows of an outer position
};

/// out[o, i] = source[o, index[i]], one word per thread. A launch loads its parameters and its code
/// in lines of 64 bytes: indices in bounds at the first outer position need 56 bytes of parameters
/// and 40 instructions without a jump. All others start over after these.
template <class W, class Raw>
__global__ void __launch_bounds__(kThreads)
    gather_rows_small_kernel(const Raw* index, const std::byte* source, std::int64_t axis_stride,
                             const __grid_constant__ FastDivmod<std::uint32_t> words,
                             std::uint32_t count, Raw last, W* out,
                             const __grid_constant__ OuterArgs outer,
                             const __grid_constant__ Bounds<Raw> bounds,
                             const __grid_constant__ Fill fill) {
  const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  const Divmod<std::uint32_t> word = words.divmod(t);
  const std::uint32_t row = word.quotient;
  const std::int64_t in_item = static_cast<std::int64_t>(word.remainder) * sizeof(W);
  const auto item_at = [=](std::int64_t offset) {
    return __ldg(reinterpret_cast<const W*>(source + in_item + offset));
  };
  wait_for_previous();
  if (row < count) {
    const Raw raw = index[row];
    if (raw <= last) {
      out[t] = item_at(static_cast<std::int64_t>(raw) * axis_stride);
      return;
    }
  }
  if (t >= outer.total) return;
  const Divmod<std::uint32_t> at = outer.count.divmod(row);
  const std::int64_t position = bounds.position(index[at.remainder]);
  if (position >= 0)
    out[t] = item_at(position * axis_stride + at.quotient * outer.stride);
  else if (fill.data != nullptr)
    out[t] = *reinterpret_cast<const W*>(fill.data + in_item);
  else
    out[t] = fill.word<W>(in_item);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Few chunks of rows: what counts is not what a thread has in flight, but how soon it starts.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/common/vector_access.cuh"
#include "cuda/gather/bounds.cuh"
#include "cuda/gather/direct.cuh"

namespace gpukern::gpu {

/// Divides any 32-bit number by one that the host knows, without a division.
class Divisor {
 public:
  explicit Divisor(std::uint32_t size)
      : size_(size), reciprocal_(std::numeric_limits<std::uint32_t>::max() / size) {}

  struct Result {
    std::uint32_t quotient;
    std::uint32_t rest;
  };

  /// The reciprocal is too small by at most size / 2^32 of itself, so the product is the quotient
  /// or one less.
  __device__ Result divide(std::uint32_t number) const {
    const std::uint32_t quotient = __umulhi(number, reciprocal_);
    const std::uint32_t rest = number - quotient * size_;
    return rest < size_ ? Result{quotient, rest} : Result{quotient + 1, rest - size_};
  }

 private:
  std::uint32_t size_;
  std::uint32_t reciprocal_;
};

/// What is not needed for good indices at the first outer position.
struct OuterArgs {
  std::int64_t stride;
  std::uint32_t total;  ///< chunks in out
  Divisor count;        ///< rows of an outer position
};

/// out[o, i] = source[o, index[i]], a chunk a thread. A launch reads its parameters anew, by lines
/// of 64 bytes, and its code too: good indices at the first outer position need 56 bytes and 40
/// instructions without a jump. All others begin anew behind them.
template <class Chunk, class Raw>
__global__ void __launch_bounds__(kThreads)
    gather_few_rows_kernel(const Raw* index, const std::byte* source, std::int64_t axis_stride,
                           const __grid_constant__ Divisor chunks, std::uint32_t count, Raw last,
                           Chunk* out, const __grid_constant__ OuterArgs outer,
                           const __grid_constant__ Bounds<Raw> bounds,
                           const __grid_constant__ Fill fill) {
  const std::uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  const Divisor::Result place = chunks.divide(t);
  const std::uint32_t row = place.quotient;
  const std::int64_t in_item = static_cast<std::int64_t>(place.rest) * sizeof(Chunk);
  const auto item_at = [=](std::int64_t offset) {
    return __ldg(reinterpret_cast<const Chunk*>(source + in_item + offset));
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
  const Divisor::Result at = outer.count.divide(row);
  const std::int64_t position = bounds.position(index[at.rest]);
  if (position >= 0)
    out[t] = item_at(position * axis_stride + at.quotient * outer.stride);
  else if (fill.data != nullptr)
    out[t] = *reinterpret_cast<const Chunk*>(fill.data + in_item);
  else
    out[t] = fill.chunk<Chunk>(in_item);
}

}  // namespace gpukern::gpu

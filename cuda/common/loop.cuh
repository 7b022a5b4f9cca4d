// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Positions of a loop nest on the GPU.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/common/fast_divmod.cuh"
#include "src/core/loop.hpp"

namespace gpukern::gpu {

__device__ inline std::uint32_t quotient(std::uint32_t number, std::uint32_t divisor) {
  return number / divisor;
}
/// Not inlined, for it takes much code and is rare.
__device__ __noinline__ inline std::uint64_t quotient(std::uint64_t number, std::uint64_t divisor) {
  return number / divisor;
}

/// The operands' byte offsets at a position of a loop. `Offset` is an unsigned type that holds
/// every position.
template <int Operands, class Offset>
__device__ void unravel(const Loop<Operands>& loop, Offset position,
                        std::int64_t (&offset)[Operands]) {
  // Positions of more than 32 bits are rare, and their divisions are long.
  constexpr int kUnrolled = sizeof(Offset) > 4 ? 1 : 4;
  for (int k = 0; k < Operands; ++k) offset[k] = 0;
#pragma unroll kUnrolled
  for (int d = loop.ndim - 1; d >= 0; --d) {
    const auto extent = static_cast<Offset>(loop.extent[d]);
    const Offset rest = d > 0 ? quotient(position, extent) : 0;
    const auto at = static_cast<std::int64_t>(position - rest * extent);
    for (int k = 0; k < Operands; ++k) offset[k] += at * loop.stride[k][d];
    position = rest;
  }
}

/// The operands' byte offsets at one position.
template <int Operands>
struct OffsetsAt {
  std::int64_t offset[Operands];
};

/// A loop whose positions are found by multiplication.
template <int Operands>
struct FastLoop {
  static constexpr int kMostDimensions = 8;

  // From the innermost dimension outwards.
  int ndim = 0;
  FastDivmod<std::uint32_t> extent[kMostDimensions];
  std::int32_t stride[Operands][kMostDimensions];

  /// Whether a loop may be one: positions and strides fit 32 bits. Numbers of threads past the end
  /// fit 32 bits, too.
  static bool holds(const Loop<Operands>& loop) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::int64_t positions = loop.count();
    bool fits = loop.ndim <= kMostDimensions && 0 < positions && positions <= kMost;
    for (const auto& strides : loop.stride)
      for (int d = 0; d < loop.ndim && fits; ++d)
        fits = -kMost <= strides[d] && strides[d] <= kMost;
    return fits;
  }
  FastLoop() = default;
  explicit FastLoop(const Loop<Operands>& loop) : ndim(loop.ndim) {
    for (int d = 0; d < ndim; ++d) {
      const int from = ndim - 1 - d;
      extent[d] = FastDivmod<std::uint32_t>(static_cast<std::uint32_t>(loop.extent[from]));
      for (int k = 0; k < Operands; ++k)
        stride[k][d] = static_cast<std::int32_t>(loop.stride[k][from]);
    }
  }

  /// Of several positions together.
  template <class Position, int kCount>
  __device__ void find(const Position (&position)[kCount],
                       OffsetsAt<Operands> (&found)[kCount]) const {
    std::uint32_t rest[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      rest[k] = static_cast<std::uint32_t>(position[k]);
      found[k] = {};
    }
    // Unrolled, this would make up most of a kernel's code.
#pragma unroll 1
    for (int d = 0; d < ndim; ++d) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        const auto at = extent[d].divmod(rest[k]);
#pragma unroll
        for (int operand = 0; operand < Operands; ++operand)
          found[k].offset[operand] +=
              std::int64_t{static_cast<std::int32_t>(at.remainder)} * stride[operand][d];
        rest[k] = at.quotient;
      }
    }
  }
};

/// The byte offsets of a loop's positions: of one dimension by one multiplication for each operand,
/// of several by a FastLoop or, where that does not hold the loop, by division.
template <int Operands>
class LoopOffsets {
 public:
  explicit LoopOffsets(const Loop<Operands>& loop)
      : loop_(loop), is_fast_(FastLoop<Operands>::holds(loop)) {
    if (is_fast_) fast_ = FastLoop<Operands>(loop);
  }

  /// Whether consecutive positions are step() bytes apart.
  [[nodiscard]] __host__ __device__ bool is_regular() const { return loop_.ndim <= 1; }
  [[nodiscard]] __host__ __device__ std::int64_t step(int operand) const {
    return loop_.ndim == 0 ? 0 : loop_.stride[operand][0];
  }

  [[nodiscard]] __device__ OffsetsAt<Operands> at(std::int64_t position) const {
    OffsetsAt<Operands> found[1];
    find({position}, found);
    return found[0];
  }
  /// Of several positions together.
  template <int kCount>
  __device__ void find(const std::int64_t (&position)[kCount],
                       OffsetsAt<Operands> (&found)[kCount]) const {
    if (is_regular()) {
#pragma unroll
      for (int k = 0; k < kCount; ++k)
#pragma unroll
        for (int operand = 0; operand < Operands; ++operand)
          found[k].offset[operand] = position[k] * step(operand);
    } else if (is_fast_) {
      fast_.find(position, found);
    } else {
#pragma unroll
      for (int k = 0; k < kCount; ++k) found[k] = divided(position[k]);
    }
  }

 private:
  /// Not inlined: it is rare, and would make up most of a kernel's code.
  [[nodiscard]] __device__ __noinline__ OffsetsAt<Operands> divided(std::int64_t position) const {
    OffsetsAt<Operands> found;
    unravel(loop_, static_cast<std::uint64_t>(position), found.offset);
    return found;
  }

  Loop<Operands> loop_;
  FastLoop<Operands> fast_;
  bool is_fast_;
};

/// Positions `between` apart; `last` in place of those past it.
template <int kCount>
struct Positions {
  std::int64_t of[kCount];

  __device__ Positions(std::int64_t first, std::int64_t between, std::int64_t last) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) of[k] = min(first + k * between, last);
  }
};

/// Calls visit(Offset{}) with the narrowest unsigned type for positions below `count`: 32 bits only
/// if a thread past the end does not overflow either.
template <class Visit>
void visit_offset(std::int64_t count, const Visit& visit) {
  if (count < (std::int64_t{1} << 31))
    visit(std::uint32_t{});
  else
    visit(std::uint64_t{});
}

}  // namespace gpukern::gpu

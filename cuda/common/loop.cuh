// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Positions of a loop nest on the GPU.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/common/fast_divmod.cuh"
#include "src/core/loop.hpp"

namespace gpukern::gpu {

/// Dividing 32-bit numbers is several times faster.
__device__ inline std::uint32_t quotient(std::uint32_t number, std::uint32_t divisor) {
  return number / divisor;
}
__device__ inline std::uint64_t quotient(std::uint64_t number, std::uint64_t divisor) {
  if ((number | divisor) >> 32 == 0)
    return static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(divisor);
  return number / divisor;
}

/// The operands' byte offsets at a position of a loop. `Offset` is an unsigned type that holds
/// every position.
template <int Operands, class Offset>
__device__ void unravel(const Loop<Operands>& loop, Offset position,
                        std::int64_t (&offset)[Operands]) {
  for (int k = 0; k < Operands; ++k) offset[k] = 0;
  for (int d = loop.ndim - 1; d >= 0; --d) {
    const auto extent = static_cast<Offset>(loop.extent[d]);
    const Offset rest = d > 0 ? quotient(position, extent) : 0;
    const auto at = static_cast<std::int64_t>(position - rest * extent);
    for (int k = 0; k < Operands; ++k) offset[k] += at * loop.stride[k][d];
    position = rest;
  }
}

/// A loop whose positions are found by multiplication.
template <int Operands>
struct FastLoop {
  static constexpr int kMostDimensions = 8;

  // From the innermost dimension outwards.
  int ndim = 0;
  FastDivmod<std::uint32_t> extent[kMostDimensions];
  std::int32_t stride[Operands][kMostDimensions];

  /// Whether a loop may be one whose positions have that many parts together. Numbers of threads
  /// past the end fit 32 bits, too.
  static bool holds(const Loop<Operands>& loop, std::int64_t positions) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    bool fits = loop.ndim <= kMostDimensions && positions <= kMost;
    for (const auto& strides : loop.stride)
      for (int d = 0; d < loop.ndim && fits; ++d)
        fits = -kMost <= strides[d] && strides[d] <= kMost;
    return fits;
  }
  explicit FastLoop(const Loop<Operands>& loop) : ndim(loop.ndim) {
    for (int d = 0; d < ndim; ++d) {
      const int from = ndim - 1 - d;
      extent[d] = FastDivmod<std::uint32_t>(static_cast<std::uint32_t>(loop.extent[from]));
      for (int k = 0; k < Operands; ++k)
        stride[k][d] = static_cast<std::int32_t>(loop.stride[k][from]);
    }
  }
};

/// As unravel() above.
template <int Operands>
__device__ void unravel(const FastLoop<Operands>& loop, std::uint32_t position,
                        std::int64_t (&offset)[Operands]) {
  for (int k = 0; k < Operands; ++k) offset[k] = 0;
#pragma unroll
  for (int d = 0; d < FastLoop<Operands>::kMostDimensions; ++d) {
    if (d >= loop.ndim) break;
    const auto at = loop.extent[d].divmod(position);
    for (int k = 0; k < Operands; ++k)
      offset[k] += std::int64_t{static_cast<std::int32_t>(at.remainder)} * loop.stride[k][d];
    position = at.quotient;
  }
}

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

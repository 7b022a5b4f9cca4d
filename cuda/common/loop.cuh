// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Positions of a loop nest on the GPU.
#pragma once

#include <cstdint>

#include "src/core/loop.hpp"

namespace gpukern::gpu {

/// The operands' byte offsets at a position of a loop. `Offset` is an unsigned type that holds
/// every position: dividing 32-bit numbers is several times faster.
template <int Operands, class Offset>
__device__ void unravel(const Loop<Operands>& loop, Offset position,
                        std::int64_t (&offset)[Operands]) {
  for (int k = 0; k < Operands; ++k) offset[k] = 0;
  for (int d = loop.ndim - 1; d >= 0; --d) {
    const auto extent = static_cast<Offset>(loop.extent[d]);
    const Offset rest = d > 0 ? position / extent : 0;
    const auto at = static_cast<std::int64_t>(position - rest * extent);
    for (int k = 0; k < Operands; ++k) offset[k] += at * loop.stride[k][d];
    position = rest;
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

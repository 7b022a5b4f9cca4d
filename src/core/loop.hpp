// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A loop nest over several strided operands: the shape that every kernel works on.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "gpukern/gpukern.h"

namespace gpukern {

/// `extent[0] x extent[1] x ...` positions; operand k of position (i, j, ...) is stored at `i *
/// stride[k][0] + j * stride[k][1] + ...` BYTES from its base. Plain data that is passed to GPU
/// kernels by value, whose parameters take up to 32 KB from CUDA 12.1 on.
template <int Operands>
struct Loop {
  std::int32_t ndim = 0;
  // Only the first `ndim` entries are set. Zeroing the others would take longer than a small call.
  std::int64_t extent[GPUKERN_MAX_NDIM];
  std::int64_t stride[Operands][GPUKERN_MAX_NDIM];

  Loop() {}  // NOLINT(*-member-init,*-use-equals-default): "= default" would write the zeros

  /// Appends an innermost dimension.
  void push(std::int64_t size, const std::array<std::int64_t, Operands>& strides) {
    extent[ndim] = size;
    for (int k = 0; k < Operands; ++k) stride[k][ndim] = strides[k];
    ++ndim;
  }

  [[nodiscard]] std::int64_t count() const {
    std::int64_t positions = 1;
    for (int d = 0; d < ndim; ++d) positions = product(positions, extent[d]);
    return positions;
  }

  /// Drops dimensions of extent 1 and merges adjacent dimensions whose strides are compatible in
  /// every operand. Preserves the order of the positions.
  void coalesce() {
    int kept = 0;
    for (int d = 0; d < ndim; ++d) {
      if (extent[d] == 1) continue;
      if (kept > 0 && mergeable(kept - 1, d)) {
        extent[kept - 1] = product(extent[kept - 1], extent[d]);
        for (int k = 0; k < Operands; ++k) stride[k][kept - 1] = stride[k][d];
        continue;
      }
      extent[kept] = extent[d];
      for (int k = 0; k < Operands; ++k) stride[k][kept] = stride[k][d];
      ++kept;
    }
    ndim = kept;
  }

  /// Sorts the dimensions by descending stride of one operand, so that its memory is accessed in
  /// order. Only for loops whose positions may be visited in any order.
  void sort_by(int operand) {
    for (int i = 1; i < ndim; ++i)
      for (int d = i; d > 0 && step(operand, d - 1) < step(operand, d); --d) swap(d - 1, d);
  }

  /// Whether the operand's positions are contiguous, `item` bytes each.
  [[nodiscard]] bool contiguous(int operand, std::int64_t item) const {
    return ndim == 0 || (ndim == 1 && stride[operand][0] == item);
  }

 private:
  /// Overflows only in a loop with an extent of 0, where the product of all extents is 0 even so.
  [[nodiscard]] static std::int64_t product(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }

  [[nodiscard]] std::int64_t step(int operand, int d) const {
    return stride[operand][d] < 0 ? -stride[operand][d] : stride[operand][d];
  }

  void swap(int a, int b) {
    std::swap(extent[a], extent[b]);
    for (int k = 0; k < Operands; ++k) std::swap(stride[k][a], stride[k][b]);
  }

  [[nodiscard]] bool mergeable(int outer, int inner) const {
    for (int k = 0; k < Operands; ++k)
      if (stride[k][outer] != product(stride[k][inner], extent[inner])) return false;
    return true;
  }
};

}  // namespace gpukern

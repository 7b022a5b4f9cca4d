// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Offsets of positions on an axis of several dimensions, as a flattened array has.
#pragma once

#include <array>
#include <cstdint>

#include "src/core/loop.hpp"
#include "src/cpu/fast_divide.hpp"
#include "src/cpu/gather_items.hpp"

namespace gpukern::cpu {

/// Turns blocks of positions into offsets.
class AxisOffsets {
 public:
  /// Refers to the axis, which has at least two dimensions, none of them of length 0.
  explicit AxisOffsets(const Loop<1>& axis) : axis_(&axis) {
    for (int d = 1; d < axis.ndim; ++d) {
      const auto at = static_cast<std::size_t>(d);
      extent_[at] = FastDivide(axis.extent[d]);
      // What the offset changes by from the end of a row to the beginning of the next one.
      jump_[at] = axis.stride[0][d - 1] - axis.extent[d] * axis.stride[0][d];
    }
  }

  /// Turns positions into their offsets, with `offset` + k * `step` added to the k-th one. Missing
  /// ones stay.
  void make(std::int64_t offset, std::int64_t step, std::int64_t count,
            std::int64_t* position) const {
    // Copies, which the stores to `position` cannot alias.
    const auto inner = static_cast<std::size_t>(axis_->ndim - 1);
    const std::int64_t stride = axis_->stride[0][inner];
    const FastDivide extent = extent_[inner];
    const std::int64_t jump = jump_[inner];
    for (std::int64_t k = 0; k < count; ++k) {
      // Of a missing position the sum is not used, and may wrap.
      const std::int64_t given = position[k];
      std::int64_t rest = extent.quotient(given);
      std::int64_t sum = wrapped_sum(wrapped_product(given, stride), wrapped_product(rest, jump));
      for (std::size_t d = inner - 1; d > 0; --d) {
        rest = extent_[d].quotient(rest);
        sum = wrapped_sum(sum, wrapped_product(rest, jump_[d]));
      }
      position[k] = given == kNoPosition ? kNoPosition : wrapped_sum(sum, offset + k * step);
    }
  }

 private:
  static std::int64_t wrapped_product(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  static std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }

  const Loop<1>* axis_;
  std::array<FastDivide, GPUKERN_MAX_NDIM> extent_;
  std::array<std::int64_t, GPUKERN_MAX_NDIM> jump_;  // NOLINT(*-member-init): the first ndim
};

}  // namespace gpukern::cpu

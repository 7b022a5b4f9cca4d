// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Splits a loop nest into parts, so that work can stop between them and the memory is bounded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/core/cache_line.hpp"
#include "src/core/loop.hpp"

namespace gpukern {

/// A part of a loop nest: a separate loop, whose operands begin `offset` bytes after their bases.
template <int Operands>
struct Slice {
  Loop<Operands> loop;
  std::array<std::int64_t, Operands> offset{};
};

/// Splits a loop nest into slices of at most `most` positions, but at least one, in C order. The
/// innermost dimensions stay whole as far as they fit, so that contiguous operands are contiguous
/// in each slice. All slices but the last of a row have the same size. The loop must outlive this
/// object.
template <int Operands>
class Slices {
 public:
  Slices(const Loop<Operands>& loop, std::int64_t most) : loop_(loop), cut_(loop.ndim - 1) {
    std::int64_t inner = 1;
    for (; cut_ >= 0 && loop.extent[cut_] <= most / inner; --cut_) inner *= loop.extent[cut_];
    if (cut_ < 0) return;
    step_ = std::max<std::int64_t>(1, most / inner);
    // Slices of single positions, of a byte or more each, begin at a cache line if the operand
    // does.
    if (inner == 1 && step_ > kCacheLine) step_ -= step_ % kCacheLine;
    pieces_ = (loop.extent[cut_] - 1) / step_ + 1;
    for (int d = 0; d < cut_; ++d) outer_ *= loop.extent[d];
  }

  [[nodiscard]] std::int64_t count() const { return outer_ * pieces_; }

  [[nodiscard]] Slice<Operands> operator[](std::int64_t number) const {
    Slice<Operands> slice;
    std::int64_t rest = number / pieces_;
    for (int d = cut_ - 1; d >= 0; --d) {
      move(slice, d, rest % loop_.extent[d]);
      rest /= loop_.extent[d];
    }
    if (cut_ >= 0) {
      const std::int64_t begin = number % pieces_ * step_;
      move(slice, cut_, begin);
      push(slice, cut_, std::min(step_, loop_.extent[cut_] - begin));
    }
    for (int d = cut_ + 1; d < loop_.ndim; ++d) push(slice, d, loop_.extent[d]);
    return slice;
  }

 private:
  void move(Slice<Operands>& slice, int d, std::int64_t at) const {
    for (int k = 0; k < Operands; ++k) slice.offset[k] += at * loop_.stride[k][d];
  }
  void push(Slice<Operands>& slice, int d, std::int64_t extent) const {
    std::array<std::int64_t, Operands> strides{};
    for (int k = 0; k < Operands; ++k) strides[k] = loop_.stride[k][d];
    slice.loop.push(extent, strides);
  }

  const Loop<Operands>& loop_;
  int cut_;                  ///< the dimension that is split; -1 if the whole loop fits
  std::int64_t step_ = 0;    ///< positions of it in a slice
  std::int64_t pieces_ = 1;  ///< slices along it
  std::int64_t outer_ = 1;
};

}  // namespace gpukern

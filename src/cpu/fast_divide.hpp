// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Division by an invariant divisor.
#pragma once

#include <bit>
#include <cstdint>

namespace gpukern::cpu {

/// Divides numbers in [0, 2^63) by multiplication: T. Granlund and P. L. Montgomery, "Division by
/// Invariant Integers using Multiplication", PLDI 1994, theorem 4.2 with N = 63.
class FastDivide {
 public:
  FastDivide() = default;
  /// divisor is at least 1.
  explicit FastDivide(std::int64_t divisor)
      : shift_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(divisor) - 1))),
        factor_(static_cast<std::uint64_t>(
            ((Wide{1} << (63 + shift_)) / static_cast<std::uint64_t>(divisor)) + 1)) {}

  [[nodiscard]] std::int64_t quotient(std::int64_t number) const {
    const std::uint64_t twice = static_cast<std::uint64_t>(number) * 2;
    const Wide product = Wide{twice} * factor_;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> 64) >> shift_);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  int shift_;  ///< the binary logarithm, rounded up
  std::uint64_t factor_;
};

}  // namespace gpukern::cpu

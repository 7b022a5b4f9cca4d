// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Division by an invariant divisor by multiplication with its reciprocal, which the host computes.
#pragma once

#include <cstdint>
#include <limits>

namespace gpukern::gpu {

template <class Int>
struct Divmod {
  Int quotient;
  Int remainder;  ///< in [0, divisor)
};

/// Passed to kernels by value. The 32-bit one divides any number, in 8 bytes of parameters; the
/// 64-bit one divides once and steps from there.
template <class Int>
class FastDivmod;

template <>
class FastDivmod<std::uint32_t> {
 public:
  using Result = Divmod<std::uint32_t>;

  FastDivmod() = default;
  explicit FastDivmod(std::uint32_t divisor)
      : divisor_(divisor), reciprocal_(std::numeric_limits<std::uint32_t>::max() / divisor) {}

  /// The reciprocal is too small by at most divisor / 2^32 of itself, so the product is the
  /// quotient or one less.
  __device__ Result divmod(std::uint32_t number) const {
    const std::uint32_t quotient = __umulhi(number, reciprocal_);
    const std::uint32_t remainder = number - quotient * divisor_;
    return remainder < divisor_ ? Result{quotient, remainder}
                                : Result{quotient + 1, remainder - divisor_};
  }

 private:
  std::uint32_t divisor_ = 1;
  std::uint32_t reciprocal_ = std::numeric_limits<std::uint32_t>::max();
};

template <>
class FastDivmod<std::int64_t> {
 public:
  using Result = Divmod<std::int64_t>;

  FastDivmod() = default;
  explicit FastDivmod(std::int64_t divisor)
      : divisor_(divisor),
        reciprocal_(static_cast<std::uint32_t>(
            (std::uint64_t{1} << 31) / static_cast<std::uint64_t>(divisor) + 1)) {}

  /// The longest step of advance(): up to here its multiplication is exact for every divisor.
  static constexpr std::int64_t kMaxStep = 1 << 15;

  /// By a hardware division: once for each block or tile.
  __device__ Result divmod(std::int64_t number) const {
    if (number >> 32 == 0 && divisor_ >> 32 == 0) {
      const auto quotient =
          static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(divisor_);
      return {quotient, number - quotient * divisor_};
    }
    const std::int64_t quotient = number / divisor_;
    return {quotient, number - quotient * divisor_};
  }

  /// Of the number `step` above that of `from`; 0 <= step <= kMaxStep.
  __device__ Result advance(const Result& from, std::int64_t step) const {
    const std::int64_t remainder = from.remainder + step;
    if (remainder < divisor_) return {from.quotient, remainder};
    const auto past = static_cast<std::uint32_t>(remainder - divisor_);
    const auto more =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(past) * reciprocal_) >> 31);
    return {from.quotient + 1 + more, past - static_cast<std::int64_t>(more) * divisor_};
  }

 private:
  std::int64_t divisor_ = 1;
  std::uint32_t reciprocal_ = 0;
};

}  // namespace gpukern::gpu

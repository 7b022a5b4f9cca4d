// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// From an index as it is stored to the place of its item: what all gather kernels share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cuda/common/index.cuh"
#include "src/runtime/backend.hpp"

namespace gpukern::gpu {

/// What an index of the unsigned type Raw means. One comparison passes the common index; the mode
/// is only looked at for the others.
template <class Raw>
struct Bounds {
  Raw last = 0;  ///< the last raw value that is a position as it stands
  bool is_signed = false;
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  std::int64_t n = 1;
  std::uint64_t* bad = nullptr;  ///< see GatherArgs

  explicit Bounds(const GatherArgs& args)
      : is_signed(args.index_type.is_signed), mode(args.mode), n(args.n), bad(args.bad) {
    const auto most =
        static_cast<std::uint64_t>(std::numeric_limits<Raw>::max() >> static_cast<int>(is_signed));
    last = static_cast<Raw>(std::min(static_cast<std::uint64_t>(n - 1), most));
  }

  /// In [0, n), or -1 for the fill value.
  __device__ std::int64_t position(Raw raw) const {
    if (raw <= last) return static_cast<std::int64_t>(raw);
    const std::int64_t value = as_index(raw, is_signed);
    note_bad(bad, value, is_signed, n);
    return resolve_index(mode, value, is_signed, n);
  }

  /// Of several indices: one branch where none needs a closer look.
  template <int kCount>
  __device__ void positions(const Raw (&raw)[kCount], std::int64_t (&position)[kCount]) const {
    bool plain = true;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      position[k] = static_cast<std::int64_t>(raw[k]);
      plain = plain && raw[k] <= last;
    }
    if (plain) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) position[k] = this->position(raw[k]);
  }
};

/// A number of positions in each turn of a walk; the next turns are found without a division.
class Turn {
 public:
  Turn() = default;
  explicit Turn(std::int64_t size)
      : size_(size),
        multiplier_(static_cast<std::uint32_t>(
            (std::uint64_t{1} << 31) / static_cast<std::uint64_t>(size) + 1)) {}

  /// Steps may be this long; the multiplication below is exact then, for every size.
  static constexpr std::int64_t kLongestStep = 1 << 15;

  struct Place {
    std::int64_t turn;
    std::int64_t at;  ///< in [0, size)
  };

  __device__ Place locate(std::int64_t position) const {
    if (position >> 32 == 0 && size_ >> 32 == 0) {
      const auto turn = static_cast<std::uint32_t>(position) / static_cast<std::uint32_t>(size_);
      return {turn, position - turn * size_};
    }
    const std::int64_t turn = position / size_;
    return {turn, position - turn * size_};
  }

  /// The place `step` positions on, 0 <= step <= kLongestStep.
  __device__ Place advance(const Place& from, std::int64_t step) const {
    const std::int64_t at = from.at + step;
    if (at < size_) return {from.turn, at};
    const auto past = static_cast<std::uint32_t>(at - size_);
    const auto turns =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(past) * multiplier_) >> 31);
    return {from.turn + 1 + turns, past - static_cast<std::int64_t>(turns) * size_};
  }

 private:
  std::int64_t size_ = 1;
  std::uint32_t multiplier_ = 0;
};

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Whether updates are sorted by slice of the target, and how long a slice is; slices.cuh.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cuda/common/arithmetic.hpp"
#include "src/core/reduce.hpp"

namespace gpukern::gpu {

/// The passes of a radix sort by this many bits of a key.
constexpr int sort_passes(int bits) {
  constexpr int kPassBits = 8;
  return (bits + kPassBits - 1) / kPassBits;
}

/// The bits of a key in its slice, 3 to `most`, or 0 to sort `count` updates by all `key_bits`.
inline int slice_bits(std::int64_t count, int key_bits, int most) {
  constexpr std::int64_t kFrom = 1 << 23;  // fewer: long slices take longer than two more passes
  constexpr std::int64_t kUpdates = 1024;  // of a slice
  // Of many updates for each key, all slices are long. Of few, a slice has more keys than updates.
  const bool are_long = count >> key_bits >= kBlockValues / 2;
  if (count < kFrom || are_long || count >> (key_bits - 2) == 0) return 0;
  const auto slices = std::bit_ceil(static_cast<std::uint64_t>(ceil_divide(count, kUpdates)));
  int bits = std::min(key_bits - std::countr_zero(slices), most);
  // Twice as long if that takes a pass less.
  if (bits < most && sort_passes(key_bits - bits - 1) < sort_passes(key_bits - bits)) ++bits;
  return sort_passes(key_bits - bits) < sort_passes(key_bits) ? bits : 0;
}

/// The slices of updates that are sorted by tiles; tiles.cuh.
struct TileSlices {
  static constexpr std::int64_t kMostUpdates = 1 << 21;
  static constexpr std::int64_t kMostKeys = 1 << 21;  // more: few updates for the keys of a slice
  static constexpr std::int64_t kMost = 1 << 11;
  static constexpr int kLeastBits = 3;
  static constexpr int kMostBits = 11;

  /// The bits of a key in its slice, at most `most`, or -1 if the updates are not sorted so.
  static int bits(std::int64_t count, std::int64_t keys, int most) {
    constexpr std::int64_t kUpdates = 2048;  // of a slice on average, half of a tile
    if (count > kMostUpdates || keys > kMostKeys) return -1;
    for (int bits = std::min(kMostBits, most); bits >= kLeastBits; --bits)
      if (count << bits <= kUpdates * keys)
        return ceil_divide(keys, std::int64_t{1} << bits) <= kMost ? bits : -1;
    return -1;
  }
};

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Whether updates are sorted by slice of the target, and how long a slice is; slices.cuh.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cuda/common/arithmetic.hpp"
#include "src/core/index.hpp"
#include "src/core/reduce.hpp"

namespace gpukern::gpu {

/// The passes of a radix sort by this many bits of a key.
constexpr int sort_passes(int bits) {
  constexpr int kPassBits = 8;
  return (bits + kPassBits - 1) / kPassBits;
}

/// Fewer updates are not sorted by slice: long slices take longer than two more passes.
inline constexpr std::int64_t kSlicesFrom = 1 << 23;

/// The bits of a key in its slice, 3 to `most`, or 0 to sort `count` updates by all `key_bits`.
inline int slice_bits(std::int64_t count, int key_bits, int most) {
  constexpr std::int64_t kUpdates = 1024;  // of a slice
  // Of many updates for each key, all slices are long. Of few, a slice has more keys than updates.
  const bool are_long = count >> key_bits >= kBlockValues / 2;
  if (count < kSlicesFrom || are_long || count >> (key_bits - 2) == 0) return 0;
  const auto slices = std::bit_ceil(static_cast<std::uint64_t>(ceil_divide(count, kUpdates)));
  int bits = std::min(key_bits - std::countr_zero(slices), most);
  // Twice as long if that takes a pass less.
  if (bits < most && sort_passes(key_bits - bits - 1) < sort_passes(key_bits - bits)) ++bits;
  return sort_passes(key_bits - bits) < sort_passes(key_bits) ? bits : 0;
}

/// Spreads keys over the numbers below a power of two, so that slices have about as many updates
/// each wherever in the target these are. Multiplying by an odd number is one to one; this one is
/// that of Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
class KeySpread {
 public:
  /// Leaves keys as they are.
  KeySpread() = default;
  /// Of keys below `keys`, 2^31 at most; 2^group_bits neighbouring ones stay together.
  KeySpread(std::int64_t keys, int group_bits)
      : last_(static_cast<std::uint32_t>(
            std::max(std::bit_ceil(static_cast<std::uint64_t>(keys)), kLeast) - 1)),
        group_bits_(group_bits),
        factor_(kFactor),
        inverse_(kInverse) {}

  [[nodiscard]] int bits() const { return static_cast<int>(std::bit_width(last_)); }
  [[nodiscard]] GPUKERN_HOST_DEVICE std::uint32_t spread(std::uint32_t key) const {
    return times(key, factor_);
  }
  [[nodiscard]] GPUKERN_HOST_DEVICE std::uint32_t key(std::uint32_t spread) const {
    return times(spread, inverse_);
  }

 private:
  static constexpr std::uint64_t kLeast = 8;
  static constexpr std::uint32_t kFactor = 0x9E3779B9U;
  static constexpr std::uint32_t kInverse = 0x144CBC89U;
  static_assert(kFactor * kInverse == 1);

  [[nodiscard]] GPUKERN_HOST_DEVICE std::uint32_t times(std::uint32_t number,
                                                        std::uint32_t factor) const {
    const std::uint32_t group = (number >> group_bits_) * factor << group_bits_;
    return (group & last_) | (number & ((1U << group_bits_) - 1));
  }

  std::uint32_t last_ = ~0U;
  int group_bits_ = 0;
  std::uint32_t factor_ = 1;
  std::uint32_t inverse_ = 1;
};

/// The slices of updates that are sorted by tiles; tiles.cuh.
struct TileSlices {
  static constexpr std::int64_t kMostUpdates = 1 << 21;
  static constexpr std::int64_t kMostKeys = 1 << 21;  // more: few updates for the keys of a slice
  static constexpr std::int64_t kMost = 1 << 11;
  static constexpr std::int64_t kMostOfSlice = 2048;  // half of what a block sorts
  static constexpr int kLeastBits = 3;
  static constexpr int kMostBits = 11;

  /// The updates of a slice, on average and at most: enough slices to fill the GPU.
  static std::int64_t updates(std::int64_t count) {
    constexpr std::int64_t kSlices = 512;
    constexpr std::int64_t kLeastUpdates = 256;
    return std::clamp(ceil_divide(count, kSlices), kLeastUpdates, kMostOfSlice);
  }

  static constexpr int kLeastOfTile = 1024;
  static constexpr int kMostOfTile = 4096;
  /// The updates of a tile, a power of two: enough tiles to fill the GPU.
  static int updates_of_tile(std::int64_t count) {
    constexpr std::int64_t kTiles = 128;
    const auto wanted = std::bit_ceil(static_cast<std::uint64_t>(ceil_divide(count, kTiles)));
    return static_cast<int>(std::clamp<std::uint64_t>(wanted, kLeastOfTile, kMostOfTile));
  }

  /// For KeySpread: of many updates, 8 elements that share a sector stay together.
  static int group_bits(std::int64_t count) {
    constexpr std::int64_t kMostApart = 1 << 17;
    return count <= kMostApart ? 0 : 3;
  }

  /// The bits of a key in its slice, at most `most`, or -1 if the updates are not sorted so.
  static int bits(std::int64_t count, std::int64_t keys, int most) {
    if (count > kMostUpdates || keys > kMostKeys) return -1;
    const std::int64_t spread = std::int64_t{1} << KeySpread(keys, 0).bits();
    int bits = std::min(kMostBits, most);
    while (bits > kLeastBits && count << bits > updates(count) * spread) --bits;
    return count << bits <= kMostOfSlice * spread && spread >> bits <= kMost ? bits : -1;
  }
};

}  // namespace gpukern::gpu

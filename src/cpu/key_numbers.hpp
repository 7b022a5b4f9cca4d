// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpukern::cpu {

/// Numbers different keys in the order in which they come: a hash table with linear probing (Knuth,
/// The Art of Computer Programming, volume 3, section 6.4) of at most half of its places.
class KeyNumbers {
 public:
  /// Of at most `most` keys.
  explicit KeyNumbers(std::int64_t most)
      : bits_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most)))),
        places_(std::size_t{2} << bits_) {}

  std::size_t operator()(std::int64_t key) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // Fibonacci hashing
    std::size_t at = static_cast<std::uint64_t>(key) * kFactor >> (63 - bits_);
    for (; places_[at] != 0; at = (at + 1) % places_.size())
      if (keys_[places_[at] - 1] == key) return places_[at] - 1;
    keys_.push_back(key);
    places_[at] = static_cast<std::uint32_t>(keys_.size());
    return keys_.size() - 1;
  }
  [[nodiscard]] std::int64_t key(std::size_t number) const { return keys_[number]; }

 private:
  int bits_;
  std::vector<std::uint32_t> places_;  ///< one more than a number; 0: free
  std::vector<std::int64_t> keys_;
};

}  // namespace gpukern::cpu

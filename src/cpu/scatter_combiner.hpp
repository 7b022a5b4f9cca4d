// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How scatter combines values with the target: one function for each dtype and reduction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/cpu/scatter_updates.hpp"

namespace gpukern::cpu {

/// The keys that updates may have.
struct KeyRange {
  std::int64_t first;
  std::int64_t count;
};

/// Calls visit(updates) once for all updates or for their blocks, in order.
using ForEachBlock = std::function<void(const std::function<void(const Updates&)>& visit)>;

/// How a call combines updates. Without in_blocks and sparse, always in place.
struct Combiner {
  /// Each with the element at once: exact if the order does not matter or the indices are unique.
  void (*in_place)(const ScatterArgs& args, const Updates& updates);
  /// In blocks, for keys in a range that is not much larger than the number of updates.
  void (*in_blocks)(const ScatterArgs& args, const KeyRange& keys, const ForEachBlock& blocks);
  /// In blocks, for any keys.
  void (*sparse)(const ScatterArgs& args, const Updates& updates);
  /// In blocks, for few keys: see FewKeysReduction.
  void (*few_keys)(const ScatterArgs& args, std::int64_t parts);
  /// See TableCombiner.
  void (*write_identity)(std::byte* element);
  /// Keys for each update with which in_blocks still costs less than to sort the updates.
  std::int64_t most_keys = 0;
  /// Whether in_place is exact if no element gets values for a second block.
  bool is_exact_in_a_block = false;

  [[nodiscard]] bool is_always_in_place() const { return in_blocks == nullptr; }
};

/// Puts values, or combines them as args.reduce says.
Combiner combiner_for(const ScatterArgs& args);

/// Counts the updates of groups of elements, to learn whether any element may have more than a
/// block.
class UpdateCounts {
 public:
  explicit UpdateCounts(std::int64_t updates)
      : counts_(std::bit_ceil(static_cast<std::size_t>(
            std::clamp<std::int64_t>(updates / 8, 1, std::int64_t{1} << 20)))) {}

  /// Returns false if a group has more updates than surely fit a block.
  bool add(const Updates& updates) {
    int most = 0;
    visit_updates(updates, [&](const auto key, const auto /*value*/) {
      most = count(counts_.data(), counts_.size() - 1, updates.count, key);
    });
    return most <= kMost;
  }
  bool add(const UpdateCounts& other) {
    int most = 0;
    for (std::size_t group = 0; group < counts_.size(); ++group) {
      const int sum = counts_[group] + other.counts_[group];
      counts_[group] = static_cast<std::uint8_t>(sum);
      most = std::max(most, sum);
    }
    return most <= kMost;
  }

 private:
  /// With the element itself they are less than a block, and one more is still a std::uint8_t.
  static constexpr int kMost = kBlockValues - 2;

  template <class Key>
  static int count(std::uint8_t* counts, std::size_t mask, std::int64_t updates, Key key) {
    std::uint8_t most = 0;
    for (std::int64_t u = 0; u < updates; ++u)
      most = std::max(most, ++counts[static_cast<std::size_t>(key(u)) & mask]);
    return most;
  }

  std::vector<std::uint8_t> counts_;
};

}  // namespace gpukern::cpu

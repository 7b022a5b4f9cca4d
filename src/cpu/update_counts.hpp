// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Counts of updates by groups of elements.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/cpu/scatter_updates.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {

/// Counts the updates of groups of elements, to learn whether any element may have more than a
/// block of values.
class UpdateCounts {
 public:
  /// Updates of one group that surely fit a block with the element itself; one more is still a
  /// std::uint8_t.
  static constexpr int kMost = kBlockValues - 2;
  static constexpr std::int64_t kMostGroups = std::int64_t{1} << 20;

  UpdateCounts() = default;
  explicit UpdateCounts(std::int64_t updates)
      : counts_(std::bit_ceil(
            static_cast<std::size_t>(std::clamp<std::int64_t>(updates / 8, 1, kMostGroups)))) {}

  /// Returns false if a group has more than kMost updates.
  bool add(const Updates& updates) {
    int most = 0;
    visit_updates(updates, [&](const auto key, const auto /*value*/) {
      most = count(counts_.data(), counts_.size() - 1, updates.count, key);
    });
    return most <= kMost;
  }

  /// Whether no group has more than kMost updates in all parts of a call together.
  static bool fit_together(const std::vector<UpdateCounts>& parts) {
    constexpr std::int64_t kGrain = std::int64_t{1} << 14;
    std::atomic<bool> fit{true};
    parallel_for(static_cast<std::int64_t>(parts.front().counts_.size()), kGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   int most = 0;
                   for (std::int64_t group = begin; group < end; ++group) {
                     int sum = 0;
                     for (const UpdateCounts& part : parts)
                       sum += part.counts_[static_cast<std::size_t>(group)];
                     most = std::max(most, sum);
                   }
                   if (most > kMost) fit.store(false, std::memory_order_relaxed);
                 });
    return fit.load();
  }

 private:
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

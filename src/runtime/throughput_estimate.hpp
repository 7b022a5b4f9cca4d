// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How quick a processor was of late, beside what a model of it says.
#pragma once

#include <algorithm>
#include <atomic>

namespace gpukern {

/// A moving mean of measured time over predicted time. Of two threads that note at the same time,
/// one counts.
class ThroughputEstimate {
 public:
  [[nodiscard]] double factor() const { return factor_.load(std::memory_order_relaxed); }

  void note(double predicted, double taken) {
    move_to(std::clamp(taken / predicted, kQuickest, kSlowest));
  }

  /// For a call that was decided by the factor, and so measures nothing: it may be out of date.
  void forget() { move_to(1); }

 private:
  static constexpr double kQuickest = 0.5;
  static constexpr double kSlowest = 8;
  static constexpr double kWeight = 0.125;  ///< of one; a call of 1 GiB notes some 30

  void move_to(double target) {
    const double now = factor();
    factor_.store(now + (target - now) * kWeight, std::memory_order_relaxed);
  }

  std::atomic<double> factor_{1};
};

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The recent throughput of a processor relative to a model of it.
#pragma once

#include <algorithm>
#include <atomic>

namespace gpukern {

/// A moving average of measured time over predicted time. If two threads add a measurement at the
/// same time, one of them is lost.
class ThroughputEstimate {
 public:
  [[nodiscard]] double factor() const { return factor_.load(std::memory_order_relaxed); }

  void note(double predicted, double taken) {
    move_to(std::clamp(taken / predicted, kQuickest, kSlowest));
  }

  /// For a call whose path the factor decided, so that it measures nothing: the factor may be out
  /// of date.
  void forget() { move_to(1); }

 private:
  static constexpr double kQuickest = 0.5;
  static constexpr double kSlowest = 8;
  static constexpr double kWeight = 0.125;  ///< of one measurement; a call of 1 GiB adds about 30

  void move_to(double target) {
    const double now = factor();
    factor_.store(now + (target - now) * kWeight, std::memory_order_relaxed);
  }

  std::atomic<double> factor_{1};
};

}  // namespace gpukern

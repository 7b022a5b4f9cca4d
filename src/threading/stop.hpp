// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Lets a long call on the CPU end early where its caller asks for it.
#pragma once

#include <atomic>
#include <chrono>

#include "src/threading/spin.hpp"

namespace gpukern::cpu {

/// Between two questions: a tenth of what a person notices.
constexpr std::chrono::milliseconds kStopInterval{10};

/// What may stop a call: a question that its thread asks from time to time.
class StopSource {
 public:
  StopSource() = default;
  StopSource(const StopSource&) = delete;
  StopSource& operator=(const StopSource&) = delete;

  /// Throws the call's error.
  [[noreturn]] virtual void fail() const = 0;
  [[nodiscard]] bool has_stopped() const { return stopped_.load(std::memory_order_relaxed); }
  /// Whether the answer came from a child of a fork(), in which no call can go on.
  [[nodiscard]] bool is_forked() const { return forked_; }
  /// For the thread of the call: asks, unless the last question, or the first call of this
  /// function, was within kStopInterval.
  bool ask_again();

 protected:
  ~StopSource() = default;
  /// Whether to stop. Must not throw. May call gpukern.
  virtual bool ask() noexcept = 0;
  /// Asks, and remembers the answer.
  bool ask_now();

 private:
  std::atomic<bool> stopped_{false};
  bool forked_ = false;
  Clock::time_point next_;
};

/// Sets the source that may stop this thread's work; null for none. `asks`: it is the call's
/// thread; others are told.
class StopScope {
 public:
  explicit StopScope(StopSource* source, bool asks = true) noexcept;
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  ~StopScope();

 private:
  StopSource* source_before_;
  bool asked_before_;
};

/// The source of this thread's work, null for none.
StopSource* stop_source() noexcept;

/// Whether this thread's work is to end. What is undone then remains so; throw_if_stopped() follows
/// on the call's thread. For loops that go on for milliseconds: once in about 100 microseconds.
bool is_stopped() noexcept;

/// After each loop that is_stopped() may have ended.
void throw_if_stopped();

}  // namespace gpukern::cpu

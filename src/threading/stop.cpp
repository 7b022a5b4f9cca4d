// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/threading/stop.hpp"

#include <unistd.h>

namespace gpukern::cpu {
namespace {

thread_local constinit StopSource* current = nullptr;
thread_local constinit bool asks_here = false;

}  // namespace

bool StopSource::ask_again() {
  if (has_stopped()) return true;
  const auto now = Clock::now();
  if (next_ == Clock::time_point{}) next_ = now + kStopInterval;
  return now >= next_ && ask_now();
}

bool StopSource::ask_now() {
  const StopScope none(nullptr);  // the answer may need other calls
  const pid_t process = getpid();
  const bool stop = ask();
  forked_ = forked_ || getpid() != process;
  if (stop || forked_) stopped_.store(true, std::memory_order_relaxed);
  next_ = Clock::now() + kStopInterval;
  return has_stopped();
}

StopScope::StopScope(StopSource* source, bool asks) noexcept
    : source_before_(current), asked_before_(asks_here) {
  current = source;
  asks_here = asks;
}

StopScope::~StopScope() {
  current = source_before_;
  asks_here = asked_before_;
}

StopSource* stop_source() noexcept { return current; }

bool is_stopped() noexcept {
  if (current == nullptr) return false;
  return asks_here ? current->ask_again() : current->has_stopped();
}

void throw_if_stopped() {
  if (current != nullptr && current->has_stopped()) current->fail();
}

}  // namespace gpukern::cpu

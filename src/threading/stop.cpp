// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/threading/stop.hpp"

namespace gpukern::cpu {
namespace {

thread_local constinit StopSource* current = nullptr;
thread_local constinit bool is_owned = false;

}  // namespace

bool StopSource::ask_again() {
  if (has_stopped()) return true;
  const auto now = Clock::now();
  if (next_ == Clock::time_point{}) next_ = now + kStopInterval;
  return now >= next_ && ask_now();
}

bool StopSource::ask_now() {
  const StopScope none(nullptr);  // the answer may need other calls
  if (ask()) stopped_.store(true, std::memory_order_relaxed);
  next_ = Clock::now() + kStopInterval;
  return has_stopped();
}

StopScope::StopScope(StopSource* source, bool owned) noexcept
    : source_before_(current), owned_before_(is_owned) {
  current = source;
  is_owned = owned;
}

StopScope::~StopScope() {
  current = source_before_;
  is_owned = owned_before_;
}

StopSource* stop_source() noexcept { return current; }

bool is_stopped() noexcept {
  if (current == nullptr) return false;
  return is_owned ? current->ask_again() : current->has_stopped();
}

void throw_if_stopped() {
  if (current != nullptr && current->has_stopped()) current->fail();
}

}  // namespace gpukern::cpu

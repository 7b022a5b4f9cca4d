// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Waiting without sleeping, for waits that are shorter than a wake-up.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace gpukern::cpu {

using Clock = std::chrono::steady_clock;

// A thread spins this long before it sleeps: about what a wake-up costs, and calls often follow
// each other.
constexpr std::chrono::microseconds kSpinTime{50};

inline void pause() {
#ifdef GPUKERN_X86
  __builtin_ia32_pause();
#endif
}

/// Spins until `condition` holds, for kSpinTime and at least until `end`. False if it never held.
template <class Condition>
bool spin_until(const Condition& condition, Clock::time_point end = {}) {
  end = std::max(end, Clock::now() + kSpinTime);
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
      pause();
    }
  } while (Clock::now() < end);
  return false;
}

/// Locks a mutex that is held for a few instructions at a time. It tries before it blocks: to block
/// and to be woken takes longer than most parallel jobs.
inline std::unique_lock<std::mutex> spin_lock(std::mutex& mutex) {
  constexpr int kTries = 256;
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < kTries && !lock.owns_lock(); ++i) {
    pause();
    static_cast<void>(lock.try_lock());
  }
  if (!lock.owns_lock()) lock.lock();
  return lock;
}

}  // namespace gpukern::cpu

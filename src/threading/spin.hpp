// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// To wait without sleeping, where that is over sooner than somebody would wake.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace gpukern::cpu {

using Clock = std::chrono::steady_clock;

// A helper that finds nothing to do looks on for so long before it sleeps: to wake it takes about
// as much, and calls often come one after the other.
constexpr std::chrono::microseconds kLook{50};

inline void pause() {
#ifdef GPUKERN_X86
  __builtin_ia32_pause();
#endif
}

/// Spins until the condition holds; false if that takes longer than kLook, and until `end`.
template <class Condition>
bool look_for(const Condition& condition, Clock::time_point end = {}) {
  end = std::max(end, Clock::now() + kLook);
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
      pause();
    }
  } while (Clock::now() < end);
  return false;
}

/// Locks a mutex that others hold for a moment at a time. To sleep for it and to be woken, as its
/// lock() does at once, would take longer than most work that is shared out.
inline std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) {
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

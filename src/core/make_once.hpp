// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Objects created at first use, without a lock that fork() could copy while it is held.
#pragma once

#include <atomic>
#include <memory>

namespace gpukern {

/// Returns the object in `slot`; `make`, which returns a std::unique_ptr<T>, creates it at first
/// use. Concurrent threads may each create one, and all get the first. It is never destroyed:
/// callers may use it after static objects are gone.
///
/// Use this instead of a static variable in a function: the guard of such a variable is a lock, and
/// the child of a fork() waits forever for a guard that another thread of the parent held.
/// PerProcess is for objects that hold locks themselves.
template <class T, class Make>
T& make_once(std::atomic<T*>& slot, const Make& make) {
  T* found = slot.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  auto made = make();
  return slot.compare_exchange_strong(found, made.get()) ? *made.release() : *found;
}

}  // namespace gpukern

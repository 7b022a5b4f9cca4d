// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What every process has of its own, also the child of a fork().
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

namespace gpukern {

/// One object for the process, made when it is first asked for. The child of a fork() makes
/// another: a thread that is not in the child may hold a lock in the parent's, or be changing it.
/// Never destroyed: what it holds may be wanted, or gone, when static objects are destroyed.
template <class T>
class PerProcess {
 public:
  static T& get() {
    static_cast<void>(kWatching);
    T* found = current.load(std::memory_order_acquire);
    if (found != nullptr) return *found;
    auto made = std::make_unique<T>();
    return current.compare_exchange_strong(found, made.get()) ? *made.release() : *found;
  }

 private:
  static inline std::atomic<T*> current{nullptr};
  // When the library is loaded: at first use, fork() might meet the guard of a static variable.
  static inline const int kWatching =
      pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
};

}  // namespace gpukern

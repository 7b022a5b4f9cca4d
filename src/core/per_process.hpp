// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// State that the child of a fork() does not share with its parent.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

#include "src/core/make_once.hpp"

namespace gpukern {

/// One object of type T per process, created at first use. The child of a fork() creates a new one:
/// in the copy of the parent's object, a thread that does not exist in the child may hold a lock.
/// It is never destroyed: threads may use it while static objects are destroyed.
template <class T>
class PerProcess {
 public:
  static T& get() {
    static_cast<void>(kWatching);
    return make_once(current, [] { return std::make_unique<T>(); });
  }

 private:
  static inline std::atomic<T*> current{nullptr};
  // Registered when the library is loaded: a fork() may precede the first use.
  static inline const int kWatching =
      pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
};

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/host_function.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

namespace gpukern {
namespace {

std::atomic<int> at_work{0};
std::atomic<bool> ending{false};
std::atomic<pid_t> process{0};
std::atomic<bool> registered{false};

void end_work() {
  if (process.load() != getpid()) return;
  ending.store(true);
  while (at_work.load() > 0) std::this_thread::yield();
}

}  // namespace

// Increments the count before it reads the flag, both in a sequentially consistent order: either
// exit() observes the work, or the work observes exit().
HostWork::HostWork() : in_time_((at_work.fetch_add(1), !ending.load())) {}

HostWork::~HostWork() { at_work.fetch_sub(1); }

void HostWork::watch_exit() {
  // Concurrent threads may register it twice, which is harmless.
  if (!registered.load()) {
    std::atexit(end_work);
    registered.store(true);
  }
  process.store(getpid());
}

}  // namespace gpukern

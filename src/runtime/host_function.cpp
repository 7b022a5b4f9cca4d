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

// First the count, then the question, both in one order for all threads: either exit() sees the
// work, or the work sees exit().
HostWork::HostWork() : in_time_((at_work.fetch_add(1), !ending.load())) {}

HostWork::~HostWork() { at_work.fetch_sub(1); }

void HostWork::watch_exit() {
  // Threads that arrive together may register it twice, which does no harm.
  if (!registered.load()) {
    std::atexit(end_work);
    registered.store(true);
  }
  process.store(getpid());
}

}  // namespace gpukern

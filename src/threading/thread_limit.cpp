// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/threading/thread_limit.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "src/threading/cgroup.hpp"

namespace gpukern::cpu {
namespace {

constexpr int kMostThreads = 4096;  // a bound on slips of the pen, not on machines

const ProcessCores kProcessCores;

std::atomic<int> chosen{0};

/// The number that $OMP_NUM_THREADS begins with, which may be a list; 0 for none.
int threads_of_environment() {
  const char* variable = std::getenv("OMP_NUM_THREADS");
  std::string_view text = variable != nullptr ? variable : "";
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::clamp(number, 0, kMostThreads);
}

int default_limit() {
  if (const int asked = threads_of_environment(); asked > 0) return asked;
  const int cores = kProcessCores.count();
  const auto quota = cgroup_cores();
  return quota && *quota < cores ? std::max(1, static_cast<int>(std::ceil(*quota))) : cores;
}

/// The cores of the calling thread. This and the next: false if the system refuses.
bool bound_to(cpu_set_t& cores) {
  return pthread_getaffinity_np(pthread_self(), sizeof cores, &cores) == 0;
}

bool bind(const cpu_set_t& cores) {
  return pthread_setaffinity_np(pthread_self(), sizeof cores, &cores) == 0;
}

}  // namespace

ProcessCores::ProcessCores() noexcept
    : known_(sched_getaffinity(getpid(), sizeof cores_, &cores_) == 0) {}

int ProcessCores::count() const {
  return known_ ? CPU_COUNT(&cores_)
                : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void ProcessCores::use() const {
  if (known_) bind(cores_);
}

void ProcessCores::leave(const cpu_set_t& taken) const {
  if (!known_) return;
  cpu_set_t shared;
  cpu_set_t others;
  CPU_AND(&shared, &cores_, &taken);
  CPU_XOR(&others, &cores_, &shared);
  if (CPU_COUNT(&others) == 0) return;
  bind(others);
  use();
}

const ProcessCores& process_cores() { return kProcessCores; }

HeldCore::HeldCore(int taken) noexcept {
  const int core = sched_getcpu();
  if (core < 0 || !bound_to(before_)) return;
  if (core == taken) {
    held_ = before_;
    CPU_CLR(core, &held_);
  } else {
    CPU_SET(core, &held_);
  }
  holds_ = CPU_COUNT(&held_) > 0 && bind(held_);
}

HeldCore::~HeldCore() {
  cpu_set_t now;
  if (holds_ && bound_to(now) && CPU_EQUAL(&now, &held_)) bind(before_);
}

int thread_limit() {
  const int set = chosen.load(std::memory_order_relaxed);
  if (set > 0) return set;
  // No static variable with a guard, which a fork() could meet closed: twice gives the same.
  static std::atomic<int> known{0};
  int found = known.load(std::memory_order_relaxed);
  if (found == 0) known.store(found = default_limit(), std::memory_order_relaxed);
  return found;
}

void set_thread_limit(int threads) {
  chosen.store(std::min(threads, kMostThreads), std::memory_order_relaxed);
}

}  // namespace gpukern::cpu

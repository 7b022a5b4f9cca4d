// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/threading/thread_limit.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <string_view>
#include <thread>

#include "src/core/environment.hpp"
#include "src/threading/cgroup.hpp"

namespace gpukern::cpu {
namespace {

constexpr int kMaxThreads = 4096;  // a bound on typing errors, not on machines

const ProcessCores kProcessCores;

std::atomic<int> chosen{0};         // by set_thread_limit(); 0 for the default
std::atomic<int> default_known{0};  // 0 until the first call

/// The first number in $OMP_NUM_THREADS, which may be a list; 0 without one.
int threads_from_environment() {
  constexpr const char* kSpace = " \t";
  std::string_view text = environment().omp_num_threads;
  text = text.substr(0, text.find(','));
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return std::clamp(number, 0, kMaxThreads);
}

int default_limit() {
  if (const int wanted = threads_from_environment(); wanted > 0) return wanted;
  const int cores = kProcessCores.count();
  const auto quota = cgroup_cores();
  return quota && *quota < cores ? std::max(1, static_cast<int>(std::ceil(*quota))) : cores;
}

/// Reads the affinity of the calling thread; false if the system refuses.
bool get_affinity(cpu_set_t& cores) {
  return pthread_getaffinity_np(pthread_self(), sizeof cores, &cores) == 0;
}

bool set_affinity(const cpu_set_t& cores) {
  return pthread_setaffinity_np(pthread_self(), sizeof cores, &cores) == 0;
}

}  // namespace

ProcessCores::ProcessCores() noexcept
    : known_(sched_getaffinity(getpid(), sizeof cores_, &cores_) == 0) {}

int ProcessCores::count() const {
  return known_ ? CPU_COUNT(&cores_)
                : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void ProcessCores::allow_all() const {
  if (known_) set_affinity(cores_);
}

void ProcessCores::move_off(const cpu_set_t& busy) const {
  if (!known_) return;
  cpu_set_t shared;
  cpu_set_t idle;
  CPU_AND(&shared, &cores_, &busy);
  CPU_XOR(&idle, &cores_, &shared);
  if (CPU_COUNT(&idle) == 0) return;
  set_affinity(idle);  // moves the thread
  allow_all();
}

const ProcessCores& process_cores() { return kProcessCores; }

ScopedAffinity::ScopedAffinity(int avoided) noexcept {
  const int core = sched_getcpu();
  if (core < 0 || !get_affinity(before_)) return;
  if (core == avoided) {
    bound_ = before_;
    CPU_CLR(core, &bound_);
  } else {
    CPU_SET(core, &bound_);
  }
  is_bound_ = CPU_COUNT(&bound_) > 0 && set_affinity(bound_);
}

ScopedAffinity::~ScopedAffinity() {
  cpu_set_t now;
  if (is_bound_ && get_affinity(now) && CPU_EQUAL(&now, &bound_)) set_affinity(before_);
}

int thread_limit() {
  const int set = chosen.load(std::memory_order_relaxed);
  if (set > 0) return set;
  int limit = default_known.load(std::memory_order_relaxed);
  // Threads that arrive together find the same.
  if (limit == 0) default_known.store(limit = default_limit(), std::memory_order_relaxed);
  return limit;
}

void set_thread_limit(int threads) {
  chosen.store(std::min(threads, kMaxThreads), std::memory_order_relaxed);
}

}  // namespace gpukern::cpu

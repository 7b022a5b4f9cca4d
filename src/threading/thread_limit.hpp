// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The number of threads that compute, and the cores they run on.
#pragma once

#include <sched.h>

namespace gpukern::cpu {

/// The number of threads that may compute concurrently in this process, over all calls: the number
/// set by set_thread_limit(), else $OMP_NUM_THREADS at the first call, else the number of cores in
/// the process's affinity mask, bounded by the CPU quota of its control group.
int thread_limit();

/// Sets the limit; 0 restores the default. Running calls keep their threads.
void set_thread_limit(int threads);

/// The cores that the process may use: the affinity of its first thread when the library was
/// loaded.
class ProcessCores {
 public:
  ProcessCores() noexcept;

  [[nodiscard]] int count() const;
  /// Lets the calling thread run on all of them, regardless of the affinity that it inherited.
  void allow_all() const;
  /// Moves the calling thread to a core that is not in `busy`, if there is one. It is not bound to
  /// that core.
  void move_off(const cpu_set_t& busy) const;

 private:
  cpu_set_t cores_{};
  bool known_;
};

const ProcessCores& process_cores();

/// Binds the calling thread to its current core, or to all cores but that one if it is `avoided`,
/// and restores the affinity in the destructor unless it was changed meanwhile. For a thread that
/// is about to sleep: Linux takes the halted cores of a virtual machine for busy ones, and would
/// wake the thread on its waker's core, where the two take turns.
class ScopedAffinity {
 public:
  explicit ScopedAffinity(int avoided) noexcept;
  ScopedAffinity(const ScopedAffinity&) = delete;
  ScopedAffinity& operator=(const ScopedAffinity&) = delete;
  ~ScopedAffinity();

 private:
  cpu_set_t before_{};
  cpu_set_t bound_{};
  bool is_bound_ = false;
};

}  // namespace gpukern::cpu

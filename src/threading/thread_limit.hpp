// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How many threads compute, and on which cores.
#pragma once

#include <sched.h>

namespace gpukern::cpu {

/// How many threads compute at once in this process, all calls together: what was set, else
/// $OMP_NUM_THREADS as it was at the first call, else the cores of the process's affinity mask, no
/// more than its control group's quota.
int thread_limit();

/// Sets it; 0 for the default. Calls at work keep what they have.
void set_thread_limit(int threads);

/// The cores that the process may use: those of its first thread when this library was loaded.
class ProcessCores {
 public:
  ProcessCores() noexcept;

  [[nodiscard]] int count() const;
  /// Lets the calling thread use them all, whatever its maker was bound to.
  void use() const;
  /// Moves the calling thread to another core than those, if there is one; it may go on from there.
  void leave(const cpu_set_t& taken) const;

 private:
  cpu_set_t cores_{};
  bool known_;
};

const ProcessCores& process_cores();

/// Binds the calling thread, for the life of this, to the core where it is, or off that core if it
/// is `taken`. The thread is to sleep meanwhile: of a virtual machine's cores that are halted, the
/// system believes that they are not to be had, and wakes a thread on the core of whoever wakes it,
/// to take turns there. At the end the thread is bound as before, unless others have bound it.
class HeldCore {
 public:
  explicit HeldCore(int taken) noexcept;
  HeldCore(const HeldCore&) = delete;
  HeldCore& operator=(const HeldCore&) = delete;
  ~HeldCore();

 private:
  cpu_set_t before_{};
  cpu_set_t held_{};
  bool holds_ = false;
};

}  // namespace gpukern::cpu

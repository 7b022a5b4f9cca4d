// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// On which cores threads are at work, as far as is known.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace gpukern::cpu {

class BusyCores {
 public:
  /// A thread begins to work on a core, and ends; -1 is none.
  void begin(int core) { count(core, 1); }
  void end(int core) { count(core, -1); }

  [[nodiscard]] bool has(int core) const {
    return is_known(core) && cores_[static_cast<std::size_t>(core)].threads.load() > 0;
  }

  [[nodiscard]] cpu_set_t all() const {
    cpu_set_t busy;
    CPU_ZERO(&busy);
    for (std::size_t core = 0; core < cores_.size(); ++core)
      if (has(static_cast<int>(core))) CPU_SET(core, &busy);
    return busy;
  }

 private:
  // A line of the cache each: all threads count at once.
  struct alignas(64) Core {
    std::atomic<int> threads{0};
  };

  [[nodiscard]] bool is_known(int core) const {
    return core >= 0 && static_cast<std::size_t>(core) < cores_.size();
  }
  void count(int core, int more) {
    if (is_known(core)) cores_[static_cast<std::size_t>(core)].threads.fetch_add(more);
  }

  std::vector<Core> cores_{
      static_cast<std::size_t>(std::clamp<long>(sysconf(_SC_NPROCESSORS_CONF), 1, CPU_SETSIZE))};
};

}  // namespace gpukern::cpu

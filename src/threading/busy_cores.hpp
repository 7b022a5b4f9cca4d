// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The cores on which threads of the pool work.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "src/core/cache_line.hpp"

namespace gpukern::cpu {

class BusyCores {
 public:
  /// Counts a thread that works on a core; -1 (an unknown core) is ignored.
  void add(int core) { change(core, 1); }
  void remove(int core) { change(core, -1); }

  [[nodiscard]] bool contains(int core) const {
    return is_valid(core) && cores_[static_cast<std::size_t>(core)].threads.load() > 0;
  }

  [[nodiscard]] cpu_set_t mask() const {
    cpu_set_t busy;
    CPU_ZERO(&busy);
    for (std::size_t core = 0; core < cores_.size(); ++core)
      if (contains(static_cast<int>(core))) CPU_SET(core, &busy);
    return busy;
  }

 private:
  // One cache line each: all threads update their counts concurrently.
  struct alignas(kCacheLine) Core {
    std::atomic<int> threads{0};
  };

  [[nodiscard]] bool is_valid(int core) const {
    return core >= 0 && static_cast<std::size_t>(core) < cores_.size();
  }
  void change(int core, int by) {
    if (is_valid(core)) cores_[static_cast<std::size_t>(core)].threads.fetch_add(by);
  }

  std::vector<Core> cores_{
      static_cast<std::size_t>(std::clamp<long>(sysconf(_SC_NPROCESSORS_CONF), 1, CPU_SETSIZE))};
};

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Work shared among the cores.
#pragma once

#include <cstdint>

namespace gpukern::cpu {

/// How many threads a call may use here: OpenMP's answer (OMP_NUM_THREADS, affinity, cgroup), but
/// one in the child of a fork(), whose parent's OpenMP threads are gone and would be waited for.
int thread_limit();

using RangeBody = void (*)(const void* context, std::int64_t begin, std::int64_t end);
void run_parallel(std::int64_t count, std::int64_t grain, RangeBody body, const void* context);

/// Calls body(begin, end) for ranges that cover [0, count), on as many threads as there are
/// `grain` positions each. The body must not throw.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  run_parallel(
      count, grain,
      [](const void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      &body);
}

}  // namespace gpukern::cpu

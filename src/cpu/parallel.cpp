// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

namespace gpukern::cpu {
namespace {

std::atomic<bool> pool_is_gone{false};

// From the start: any other user of OpenMP in the process may have made the pool that is gone.
[[maybe_unused]] const int kWatching =
    pthread_atfork(nullptr, nullptr, [] { pool_is_gone.store(true, std::memory_order_relaxed); });

}  // namespace

int thread_limit() {
  return pool_is_gone.load(std::memory_order_relaxed) ? 1 : omp_get_max_threads();
}

void run_parallel(std::int64_t count, std::int64_t grain, RangeBody body, const void* context) {
  const std::int64_t shares = std::min<std::int64_t>(thread_limit(), (count + grain - 1) / grain);
  if (shares <= 1) {
    if (count > 0) body(context, 0, count);
    return;
  }
#pragma omp parallel num_threads(static_cast<int>(shares))
  {
    // OpenMP may grant fewer threads than asked for.
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    // count / threads first: count * thread could overflow.
    const std::int64_t share = count / threads;
    const std::int64_t rest = count % threads;
    const std::int64_t begin = thread * share + std::min(thread, rest);
    body(context, begin, begin + share + (thread < rest ? 1 : 0));
  }
}

}  // namespace gpukern::cpu

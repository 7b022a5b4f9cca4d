// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/core/error.hpp"
#include "src/threading/thread_limit.hpp"

extern "C" gpukern_status gpukern_set_num_threads(int32_t threads) {
  return gpukern::guard([&] {
    gpukern::require(threads >= 0, GPUKERN_VALUE_ERROR,
                     "set_num_threads: threads must be at least 1, or 0 for the default, got ",
                     threads);
    gpukern::cpu::set_thread_limit(threads);
  });
}

extern "C" int32_t gpukern_num_threads(void) {
  int32_t threads = 1;  // without memory to read the limits at the first call
  gpukern::guard([&] { threads = gpukern::cpu::thread_limit(); });
  return threads;
}

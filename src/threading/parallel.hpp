// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Work shared among the cores.
#pragma once

#include <chrono>
#include <cstdint>

namespace gpukern::cpu {

/// How many threads parallel_for() takes for so many positions, at most.
int threads_for(std::int64_t count, std::int64_t grain);

/// What is done with each range. `check` may be null.
struct RangeWork {
  bool (*check)(const void* context, std::int64_t begin, std::int64_t end);
  void (*body)(const void* context, std::int64_t begin, std::int64_t end);
  const void* context;
};
bool run_parallel(std::int64_t count, std::int64_t grain, const RangeWork& work);

/// Calls body(begin, end) for ranges that cover [0, count), on as many threads as there are whole
/// `grain` positions each, the caller among them, as are awake or worth being woken, and as
/// thread_limit() allows. Returns when all is done. The body must not throw, nor call this
/// function. Below two grains, or three where the limit is more than four, it is a plain call. Many
/// callers share the helpers: all together keep to thread_limit(), as far as they are not more
/// themselves.
///
/// The threads are our own, not OpenMP's: there each call waits for all threads of its team, also
/// for one that other work keeps off its core and that has nothing left to do. Here a caller waits
/// only for threads that are at work on its ranges.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count < 2 * grain) {
    if (count > 0) body(0, count);
    return;
  }
  run_parallel(count, grain,
               {nullptr,
                [](const void* context, std::int64_t begin, std::int64_t end) {
                  (*static_cast<const Body*>(context))(begin, end);
                },
                &body});
}

/// As parallel_for(), but only if check(begin, end) is true of ranges that cover [0, count), all of
/// which come before the first call of the body. Whether it is. In place of two calls, since
/// threads that are together need not come together again; each begins the body where it began to
/// check, whose data may lie in its core's cache. Neither may throw.
template <class Check, class Body>
bool parallel_for_if_all(std::int64_t count, std::int64_t grain, const Check& check,
                         const Body& body) {
  if (count <= 0) return true;
  struct Both {
    const Check& check;
    const Body& body;
  } const both{check, body};
  return run_parallel(count, grain,
                      {[](const void* context, std::int64_t begin, std::int64_t end) {
                         return static_cast<const Both*>(context)->check(begin, end);
                       },
                       [](const void* context, std::int64_t begin, std::int64_t end) {
                         static_cast<const Both*>(context)->body(begin, end);
                       },
                       &both});
}

/// Counts, for its life, as one more thread at work: some thread spins on a core till others are
/// done, as CUDA's callers do, and whoever shared that core with it would keep all waiting.
class TakenCore {
 public:
  TakenCore();
  TakenCore(const TakenCore&) = delete;
  TakenCore& operator=(const TakenCore&) = delete;
  ~TakenCore();
};

/// More work is to come soon: for so long from now on, helpers look for it before they sleep.
void expect_work(std::chrono::nanoseconds soon);

}  // namespace gpukern::cpu

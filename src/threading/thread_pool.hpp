// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Parallel loops on the cores of the host.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gpukern::cpu {

/// The largest number of threads that parallel_for() uses for `count` positions.
int threads_for(std::int64_t count, std::int64_t grain);

/// The functions that run on each range; `check` may be null.
struct RangeWork {
  bool (*check)(const void* context, std::int64_t begin, std::int64_t end);
  void (*body)(const void* context, std::int64_t begin, std::int64_t end);
  const void* context;
};
bool run_parallel(std::int64_t count, std::int64_t grain, const RangeWork& work);
void run_pieces(std::int64_t pieces, const RangeWork& work);

/// The first position of a part, where `count` positions are divided into parts of about the same
/// length; of the part behind the last one, `count`.
inline std::int64_t begin_of_part(std::int64_t count, std::int64_t parts, std::int64_t part) {
  return count / parts * part + std::min(part, count % parts);
}

/// Calls body(begin, end) for ranges that cover [0, count), and returns when all are done. It runs
/// on the caller and on helper threads: at most one thread per `grain` positions, within
/// thread_limit(), and only helpers that are spinning or worth a wake-up. The body must not throw,
/// nor call this function. Below two grains (three where the limit is above four) it is a plain
/// call. Concurrent callers share the helpers, and together with them stay within thread_limit(),
/// unless the callers alone exceed it. Throws, with a part undone, if the call is stopped
/// (stop.hpp).
///
/// The threads are a pool of gpukern's rather than OpenMP's: an OpenMP call waits for every thread
/// of its team, even one that other work keeps off its core and that has nothing left to do. Here a
/// caller waits only for threads that work on its ranges.
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

/// As parallel_for(), but calls body(piece) for each of a few pieces of work, each of which takes
/// long enough for a thread.
template <class Body>
void parallel_pieces(std::int64_t pieces, const Body& body) {
  run_pieces(pieces, {nullptr,
                      [](const void* context, std::int64_t begin, std::int64_t end) {
                        for (; begin < end; ++begin) (*static_cast<const Body*>(context))(begin);
                      },
                      &body});
}

/// As parallel_for(), but calls check(begin, end) for ranges that cover [0, count) first, and the
/// body only if all of them return true. Returns whether they did. Cheaper than two loops: threads
/// gather once, and each starts the body where it started to check, whose data may be in its core's
/// cache. Neither function may throw.
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

/// Counts as a working thread while it exists, for a thread outside the pool that spins on a core,
/// as CUDA's synchronizing callers do. A helper on the same core would delay its whole job.
class ExternalSpinner {
 public:
  ExternalSpinner();
  ExternalSpinner(const ExternalSpinner&) = delete;
  ExternalSpinner& operator=(const ExternalSpinner&) = delete;
  ~ExternalSpinner();
};

/// Announces more work within this time: helpers spin until then before they sleep.
void expect_work(std::chrono::nanoseconds within);

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The ranges of one parallel_for(), and who takes which.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../parallel.hpp"

namespace gpukern::cpu {

/// What one thread begins with, on a cache line of its own.
struct alignas(64) Share {
  std::atomic<std::int64_t> next;
  std::int64_t end;
};

/// One call's work. It lives on the stack of the caller, who waits till all helpers that have
/// joined have left.
class Job {
 public:
  Job(RangeBody body, const void* context, std::int64_t count, std::int64_t range,
      std::int64_t threads, std::int64_t woken)
      : seats(static_cast<int>(threads) - 1),
        unwoken(static_cast<int>(threads - woken)),
        body_(body),
        context_(context),
        count_(count),
        range_(range),
        shares_(static_cast<std::size_t>(threads)) {
    // Shares of whole ranges; count / threads first: count * thread could overflow.
    const std::int64_t share = (count / threads / range + 1) * range;
    std::int64_t begin = 0;
    for (Share& part : shares_) {
      part.next.store(begin, std::memory_order_relaxed);
      begin = part.end = std::min(count, begin + share);
    }
  }

  /// Works off one share, then what the others have left. From call to call a thread begins with
  /// the same share, whose data may lie in its core's cache still.
  void work(std::size_t thread) {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(thread + i) % shares_.size()];
      // Most of the others' are done by now: to look costs less than to take.
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const std::int64_t begin = share.next.fetch_add(range_, std::memory_order_relaxed);
        if (begin >= share.end) break;
        body_(context_, begin, std::min(begin + range_, share.end));
      }
    }
  }

  void work_alone() const { body_(context_, 0, count_); }

  const int core = sched_getcpu();  ///< the caller's; -1 if the system does not tell
  const int seats;                  ///< for helpers
  const int unwoken;                ///< of them, those that no sleeper is worth being woken for
  /// Helpers that have done their part, the last that they do here; less all that have joined, once
  /// that is known: 0 in the end.
  alignas(64) std::atomic<int> left{0};

 private:
  RangeBody body_;
  const void* context_;
  std::int64_t count_;
  std::int64_t range_;
  std::vector<Share> shares_;
};

}  // namespace gpukern::cpu

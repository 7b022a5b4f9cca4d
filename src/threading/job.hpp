// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The ranges of one parallel_for(), and who takes which.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "src/threading/parallel.hpp"
#include "src/threading/spin.hpp"

namespace gpukern::cpu {

/// How positions are shared out: in multiples of `range` of them, one or up to `most` positions.
struct Cut {
  std::int64_t range;
  std::int64_t most;
};

/// The positions of one call, of which each thread has a share to begin with.
class Shares {
 public:
  Shares(std::int64_t count, Cut cut, std::size_t threads) : cut_(cut), shares_(threads) {
    // Of whole ranges; count / threads first: count * thread could overflow.
    const auto parts = static_cast<std::int64_t>(threads);
    const std::int64_t share = (count / parts / cut.range + 1) * cut.range;
    std::int64_t begin = 0;
    for (Share& part : shares_) {
      part.next.store(begin, std::memory_order_relaxed);
      begin = part.end = std::min(count, begin + share);
    }
  }

  /// Works off one share, then what the others have left; how many positions that were. From call
  /// to call a thread begins with the same share, whose data may lie in its core's cache still.
  /// Whoever takes a part waits for its stores first: of its own share a thread takes half of what
  /// is left at once.
  template <class Body>
  std::int64_t work(std::size_t thread, const Body& body) {
    std::int64_t done = 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(thread + i) % shares_.size()];
      // Most of the others' are done by now: to look costs less than to take.
      for (;;) {
        const std::int64_t rest = share.end - share.next.load(std::memory_order_relaxed);
        if (rest <= 0) break;
        const std::int64_t part = i == 0 ? part_of(rest) : cut_.range;
        const std::int64_t begin = share.next.fetch_add(part, std::memory_order_relaxed);
        if (begin >= share.end) break;
        const std::int64_t end = std::min(begin + part, share.end);
        body(begin, end);
        done += end - begin;
      }
    }
    return done;
  }

 private:
  /// On a cache line of its own.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };

  [[nodiscard]] std::int64_t part_of(std::int64_t rest) const {
    return std::max(std::min(rest / 2, cut_.most) / cut_.range, std::int64_t{1}) * cut_.range;
  }

  Cut cut_;
  std::vector<Share> shares_;
};

/// All of a call's work on one thread; whether no check was false.
inline bool run_alone(const RangeWork& work, std::int64_t count) {
  if (work.check != nullptr && !work.check(work.context, 0, count)) return false;
  work.body(work.context, 0, count);
  return true;
}

/// One call's work. It lives on the stack of the caller, who waits till all helpers that have
/// joined have left.
class Job {
  static constexpr std::chrono::microseconds kNap{20};

 public:
  Job(const RangeWork& work, std::int64_t count, Cut cut, std::int64_t threads, std::int64_t woken)
      : seats(static_cast<int>(threads) - 1),
        unwoken(static_cast<int>(threads - woken)),
        work_(work),
        count_(count),
        to_do_(count, cut, static_cast<std::size_t>(threads)) {
    if (work.check != nullptr) to_check_.emplace(count, cut, static_cast<std::size_t>(threads));
  }

  void work(std::size_t thread) {
    if (to_check_ && !check(*to_check_, thread)) return;
    to_do_.work(thread, [this](std::int64_t begin, std::int64_t end) {
      work_.body(work_.context, begin, end);
    });
  }

  void work_alone() { refused_.store(!run_alone(work_, count_), std::memory_order_relaxed); }

  /// Whether no check was false, when all is done.
  [[nodiscard]] bool accepted() const { return !refused_.load(std::memory_order_relaxed); }

  /// Helpers that have done their part, the last that they do here; less all that have joined, once
  /// that is known: 0 in the end.
  alignas(64) std::atomic<int> left{0};
  const int core = sched_getcpu();  ///< the caller's; -1 if the system does not tell
  const int seats;                  ///< for helpers
  const int unwoken;                ///< of them, those that no sleeper is worth being woken for

 private:
  /// Checks along with the others, and waits for them: they are at work. Who waits for longer may
  /// have the core that they need, and leaves it to them.
  bool check(Shares& shares, std::size_t thread) {
    const std::int64_t done = shares.work(thread, [this](std::int64_t begin, std::int64_t end) {
      if (accepted() && !work_.check(work_.context, begin, end))
        refused_.store(true, std::memory_order_relaxed);
    });
    checked_.fetch_add(done);
    const auto all_checked = [this] { return checked_.load() == count_; };
    // A thread of a real-time class would not leave its core by a yield.
    if (!look_for(all_checked))
      while (!all_checked()) std::this_thread::sleep_for(kNap);
    return accepted();
  }

  RangeWork work_;
  std::int64_t count_;
  std::optional<Shares> to_check_;
  Shares to_do_;
  std::atomic<std::int64_t> checked_{0};  ///< positions
  std::atomic<bool> refused_{false};
};

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The work of one parallel_for(), and how threads divide it. See README.md.
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

#include "src/core/cache_line.hpp"
#include "src/threading/spin.hpp"
#include "src/threading/stop.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {

/// How positions are divided into chunks: multiples of `size` positions. A chunk from another
/// thread's share has `size` positions, one from the thread's own share up to `max`.
struct ChunkPolicy {
  std::int64_t size;
  std::int64_t max;
};

/// The positions of one call, divided into one initial share per thread.
class Shares {
 public:
  Shares(std::int64_t count, ChunkPolicy policy, std::size_t threads)
      : policy_(policy), shares_(threads) {
    // count / threads comes first: count * thread could overflow.
    const auto parts = static_cast<std::int64_t>(threads);
    const std::int64_t length = (count / parts / policy.size + 1) * policy.size;
    std::int64_t begin = 0;
    for (Share& share : shares_) {
      share.next.store(begin, std::memory_order_relaxed);
      begin = share.end = std::min(count, begin + length);
    }
  }

  /// Runs the body on the thread's own share, then on what remains of the others. Returns the
  /// number of positions it ran on. In successive calls a thread starts with the same share, whose
  /// data may still be in its core's cache. Taking a chunk is an atomic operation, which waits for
  /// the stores before it; a thread therefore takes half of what remains of its share.
  template <class Body>
  std::int64_t run(std::size_t thread, const Body& body) {
    std::int64_t done = 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(thread + i) % shares_.size()];
      for (;;) {
        // A load is cheaper than an atomic operation, and most of the other shares are empty by
        // now.
        const std::int64_t remaining = share.end - share.next.load(std::memory_order_relaxed);
        if (remaining <= 0) break;
        const std::int64_t chunk = i == 0 ? own_chunk(remaining) : policy_.size;
        const std::int64_t begin = share.next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= share.end) break;
        if (is_stopped()) return done;
        const std::int64_t end = std::min(begin + chunk, share.end);
        body(begin, end);
        done += end - begin;
      }
    }
    return done;
  }

 private:
  /// One cache line each.
  struct alignas(kCacheLine) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };

  [[nodiscard]] std::int64_t own_chunk(std::int64_t remaining) const {
    return std::max(std::min(remaining / 2, policy_.max) / policy_.size, std::int64_t{1}) *
           policy_.size;
  }

  ChunkPolicy policy_;
  std::vector<Share> shares_;
};

/// Runs all of a call on the calling thread; false if its check failed. In ranges of `size` if the
/// call may be stopped.
inline bool run_serial(const RangeWork& work, std::int64_t count, std::int64_t size) {
  if (stop_source() == nullptr) size = count;
  if (work.check != nullptr)
    for (std::int64_t begin = 0; begin < count && !is_stopped(); begin += size)
      if (!work.check(work.context, begin, std::min(begin + size, count))) return false;
  for (std::int64_t begin = 0; begin < count && !is_stopped(); begin += size)
    work.body(work.context, begin, std::min(begin + size, count));
  return true;
}

/// One call of parallel_for(). It lives on the stack of the caller, which waits until every helper
/// that took a ticket has departed.
class Job {
  static constexpr std::chrono::microseconds kCheckPoll{20};

 public:
  Job(const RangeWork& work, std::int64_t count, ChunkPolicy policy, std::int64_t threads,
      std::int64_t wakeable)
      : tickets(static_cast<int>(threads) - 1),
        awake_only(static_cast<int>(threads - wakeable)),
        work_(work),
        count_(count),
        policy_(policy),
        body_shares_(count, policy, static_cast<std::size_t>(threads)) {
    if (work.check != nullptr)
      check_shares_.emplace(count, policy, static_cast<std::size_t>(threads));
  }

  void run(std::size_t thread) {
    const StopScope stop(stop_source_, thread == 0);
    if (check_shares_ && !check(*check_shares_, thread)) return;
    body_shares_.run(thread, [this](std::int64_t begin, std::int64_t end) {
      work_.body(work_.context, begin, end);
    });
  }

  void run_serial() {
    failed_.store(!cpu::run_serial(work_, count_, policy_.size), std::memory_order_relaxed);
  }

  /// Whether every check returned true; final when all is done.
  [[nodiscard]] bool passed() const { return !failed_.load(std::memory_order_relaxed); }

  /// Helpers that have departed, minus, once the slot is closed, those that took a ticket: 0 in the
  /// end. Departing is the last access of a helper to the job.
  alignas(kCacheLine) std::atomic<int> departed{0};
  const int caller_core = sched_getcpu();  ///< -1 if unknown
  const int tickets;                       ///< for helpers
  const int awake_only;                    ///< of them, those not worth a wake-up

 private:
  /// Checks together with the other threads and waits for them, by sleeping after a while: the
  /// thread that the others wait for may need this core.
  bool check(Shares& shares, std::size_t thread) {
    const std::int64_t done = shares.run(thread, [this](std::int64_t begin, std::int64_t end) {
      if (passed() && !work_.check(work_.context, begin, end))
        failed_.store(true, std::memory_order_relaxed);
    });
    checked_.fetch_add(done);
    // Who stops leaves positions unchecked.
    const auto all_checked = [this] { return checked_.load() == count_ || is_stopped(); };
    // Not a yield, by which a real-time thread would not give up its core.
    if (!spin_until(all_checked))
      while (!all_checked()) std::this_thread::sleep_for(kCheckPoll);
    return passed() && !is_stopped();
  }

  RangeWork work_;
  std::int64_t count_;
  ChunkPolicy policy_;
  StopSource* const stop_source_ = stop_source();  ///< of the caller
  std::optional<Shares> check_shares_;
  Shares body_shares_;
  std::atomic<std::int64_t> checked_{0};  ///< positions
  std::atomic<bool> failed_{false};
};

}  // namespace gpukern::cpu

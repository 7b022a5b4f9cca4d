// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The thread pool. Its design, with measurements, is in README.md.
#include "src/threading/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "src/core/cache_line.hpp"
#include "src/core/per_process.hpp"
#include "src/threading/busy_cores.hpp"
#include "src/threading/job.hpp"
#include "src/threading/job_table.hpp"
#include "src/threading/spin.hpp"
#include "src/threading/stop.hpp"
#include "src/threading/thread_limit.hpp"

namespace gpukern::cpu {
namespace {

// The helpers that one thread wakes; each of them wakes as many in turn. One after the other, the
// last of 16 would arrive when the work is done.
constexpr int kWakesPerThread = 3;

// A wake-up takes as long as a few grains, for the waker as well: calls below this number of grains
// wake no helpers, and longer ones have this number of grains for each thread.
constexpr std::int64_t kGrainsToWake = 8;
constexpr std::int64_t kGrainsPerWokenThread = 2;

// With more threads than this, cores are far apart, and the second thread of a call arrives late: a
// call needs more grains to use it.
constexpr int kFewThreads = 4;
constexpr std::int64_t kGrainsForManyThreads = 3;

// After this number of short calls in a row, each within kSpinTime of the last, a call wakes
// helpers nevertheless: the next calls find them spinning.
constexpr int kBurst = 2;

// Chunks are small enough for fast threads to take work from slow ones. The limit on chunks from a
// thread's own share bounds the time that others may have to wait for it.
constexpr std::int64_t kChunksPerThread = 16;
constexpr std::int64_t kMaxGrainsPerChunk = 2;

class Pool {
 public:
  void run(Job& job) {
    if (const std::optional<int> awake_only = awake_only_tickets(job))
      run_shared(job, *awake_only);
    else
      job.run_serial();
    last_job_end_.store(Clock::now(), std::memory_order_relaxed);
  }

  /// Adds to the number of working threads that are not the pool's.
  void add_external(int threads) {
    threads_.fetch_add(static_cast<std::uint64_t>(threads) * kWorking);
    wake_helpers(helpers_to_wake());
  }

  void expect_work(Clock::time_point end) { expected_.store(end, std::memory_order_relaxed); }

 private:
  // Two counts in one word, so that they change together.
  static constexpr std::uint64_t kWorking = 1;
  static constexpr std::uint64_t kSpinning = std::uint64_t{1} << 32;
  static int working(std::uint64_t threads) { return static_cast<int>(threads % kSpinning); }
  static int spinning(std::uint64_t threads) { return static_cast<int>(threads / kSpinning); }

  /// Whether a job has a ticket, and the thread limit room for one more helper.
  [[nodiscard]] bool has_work_for_helper() const {
    return table_.has_tickets() && working(threads_.load()) < thread_limit();
  }

  /// The number of sleeping helpers that the calling thread should wake.
  [[nodiscard]] int helpers_to_wake() const {
    const int tickets = table_.tickets_worth_waking();
    if (tickets == 0) return 0;
    const std::uint64_t threads = threads_.load();
    return std::clamp(std::min(tickets, thread_limit() - working(threads)) - spinning(threads), 0,
                      kWakesPerThread);
  }

  /// A helper about to sleep increments sleeping_ and then looks at the job table once more: it
  /// sees a new job there, or the job's caller sees it here.
  void wake_helpers(int helpers) {
    if (helpers == 0 || sleeping_.load() == 0) return;
    // Waits for a helper between that look and its sleep.
    spin_lock(mutex_).unlock();
    for (int i = 0; i < helpers; ++i) work_available_.notify_one();
  }

  /// Whether this is one of many short jobs in a row.
  bool in_burst() {
    int jobs = burst_.load(std::memory_order_relaxed);
    if (Clock::now() > last_job_end_.load(std::memory_order_relaxed) + kSpinTime) jobs = 0;
    jobs = std::min(jobs + 1, kBurst + 1);
    burst_.store(jobs, std::memory_order_relaxed);
    return jobs > kBurst;
  }

  /// The number of tickets not worth a wake-up; none if no helper would come at all.
  std::optional<int> awake_only_tickets(const Job& job) {
    if (job.awake_only < job.tickets) return job.awake_only;
    if (in_burst()) return 0;
    if (spinning(threads_.load()) > 0) return job.awake_only;
    return std::nullopt;
  }

  /// Runs a job with the helpers that come; serially if the table is full.
  void run_shared(Job& job, int awake_only) {
    threads_.fetch_add(kWorking);
    busy_cores_.add(job.caller_core);
    const int slot = table_.open(job, job.tickets, awake_only);
    if (slot == JobTable::kNone) {
      job.run_serial();
    } else {
      start_helpers(job.tickets - awake_only, job.caller_core);
      wake_helpers(helpers_to_wake());
      job.run(0);
      if (is_forked()) return;
      job.departed.fetch_sub(table_.close(slot));
    }
    busy_cores_.remove(job.caller_core);
    threads_.fetch_sub(kWorking);
    wake_helpers(helpers_to_wake());  // for other jobs: this thread made room
    if (slot == JobTable::kNone) return;
    if (wait_for_helpers(job)) table_.release(slot);
  }

  /// Returns whether they have finished: not in a child of fork(), which has none.
  bool wait_for_helpers(const Job& job) {
    const auto finished = [&job] { return job.departed.load() == 0; };
    while (!spin_until(finished)) {
      std::unique_lock lock(mutex_);
      ++waiting_callers_;
      if (stop_source() == nullptr) helpers_departed_.wait(lock, finished);
      // By the system's clock: older C libraries have no wait by a steady one.
      const bool has_finished = helpers_departed_.wait_until(
          lock, std::chrono::system_clock::now() + kStopInterval, finished);
      --waiting_callers_;
      lock.unlock();
      if (has_finished) break;
      is_stopped();  // the helpers ask nobody
      if (is_forked()) return false;
    }
    return true;
  }

  /// Whether this is the child of a fork() that a call's StopSource did. It has no helpers, and
  /// their part of the call is lost: the StopSource stops it.
  [[nodiscard]] static bool is_forked() {
    return stop_source() != nullptr && stop_source()->is_forked();
  }

  void start_helpers(int wanted, int caller_core) {
    if (helpers_.load(std::memory_order_relaxed) >= wanted) return;
    const auto lock = spin_lock(mutex_);
    while (helpers_ < wanted && start_helper(static_cast<std::size_t>(helpers_) + 1, caller_core))
      ++helpers_;
  }

  bool start_helper(std::size_t number, int caller_core) {
    // Helpers block all signals: those are for the threads of the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = true;
    threads_.fetch_add(kSpinning);
    try {
      std::thread([this, number, caller_core] { helper_loop(number, caller_core); }).detach();
    } catch (...) {  // no more threads, or no memory for one: the caller works alone
      threads_.fetch_sub(kSpinning);
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

  /// `caller_core` is the core of the last caller that was helped.
  [[noreturn]] void helper_loop(std::size_t number, int caller_core) {
    process_cores().allow_all();
    const auto has_work = [this] { return has_work_for_helper(); };
    Clock::time_point spin_end{};
    for (bool moved = false;;) {
      std::optional<ScopedAffinity> affinity;
      if (!spin_until(has_work, spin_end)) {
        affinity.emplace(caller_core);
        sleep_until_woken();
      }
      // On the core of a working thread it would only take turns with that one.
      const int core = sched_getcpu();
      if (!moved && busy_cores_.contains(core)) {
        affinity.reset();
        process_cores().move_off(busy_cores_.mask());
        moved = true;
        continue;
      }
      moved = false;
      const JobTable::Ticket ticket = take_ticket();
      if (ticket.job == nullptr) continue;  // other helpers were faster
      caller_core = ticket.job->caller_core;
      busy_cores_.add(core);
      wake_helpers(helpers_to_wake());
      affinity.reset();
      ticket.job->run(number);
      table_.close(ticket.slot);  // no chunk is left
      busy_cores_.remove(core);
      const std::uint64_t before = threads_.fetch_add(kSpinning - kWorking);
      depart(*ticket.job);
      // Helpers spin for longer only where each has a core to itself.
      spin_end = spinning(before) + working(before) <= thread_limit()
                     ? expected_.load(std::memory_order_relaxed)
                     : Clock::time_point{};
    }
  }

  void sleep_until_woken() {
    auto lock = spin_lock(mutex_);
    ++sleeping_;
    threads_.fetch_sub(kSpinning);
    work_available_.wait(lock, [this] { return has_work_for_helper(); });
    threads_.fetch_add(kSpinning);
    --sleeping_;
  }

  /// Takes a ticket, if there is one, and counts the thread as working from then on.
  JobTable::Ticket take_ticket() {
    std::uint64_t threads = threads_.load();
    do {
      if (working(threads) >= thread_limit()) return {};
    } while (!threads_.compare_exchange_weak(threads, threads + kWorking - kSpinning));
    const JobTable::Ticket ticket = table_.take_ticket();
    if (ticket.job == nullptr) threads_.fetch_add(kSpinning - kWorking);
    return ticket;
  }

  /// The job may be gone afterwards. A caller that waits for its last helper has either incremented
  /// waiting_callers_ before, or sees that the helper has departed.
  void depart(Job& job) {
    if (job.departed.fetch_add(1) != -1 || waiting_callers_.load() == 0) return;
    const auto lock = spin_lock(mutex_);
    helpers_departed_.notify_all();
  }

  JobTable table_;
  alignas(kCacheLine) std::atomic<std::uint64_t> threads_{0};  ///< working, and spinning for work
  alignas(kCacheLine) BusyCores busy_cores_;
  std::atomic<Clock::time_point> last_job_end_;
  std::atomic<Clock::time_point> expected_;  ///< see expect_work()
  std::atomic<int> burst_{0};                ///< short jobs in a row
  std::atomic<int> helpers_{0};              ///< threads that were started
  std::atomic<int> sleeping_{0};             ///< of them, those in sleep_until_woken()
  std::atomic<int> waiting_callers_{0};      ///< callers in wait_for_helpers()

  std::mutex mutex_;  ///< for the condition variables, and to start helpers
  std::condition_variable work_available_;
  std::condition_variable helpers_departed_;
};

/// The child of a fork() has none of the threads and creates a new pool.
Pool& pool() { return PerProcess<Pool>::get(); }

}  // namespace

int threads_for(std::int64_t count, std::int64_t grain) {
  if (count < 2 * grain) return 1;
  const int limit = thread_limit();
  if (limit > kFewThreads && count < kGrainsForManyThreads * grain) return 1;
  return static_cast<int>(std::min<std::int64_t>(limit, count / grain));
}

bool run_parallel(std::int64_t count, std::int64_t grain, const RangeWork& work) {
  const std::int64_t threads = threads_for(count, grain);
  if (threads <= 1) {
    const bool passed = run_serial(work, count, grain);
    throw_if_stopped();
    return passed;
  }
  // Half a grain or more, so that a late thread leaves a part of its grain to others; in whole
  // cache lines where there are that many positions, of a byte or more each.
  constexpr std::int64_t kChunksPerGrain = 2;
  std::int64_t chunk = std::max(grain / kChunksPerGrain, count / (threads * kChunksPerThread)) + 1;
  if (chunk >= kCacheLine) chunk = (chunk + kCacheLine - 1) / kCacheLine * kCacheLine;
  const std::int64_t wakeable = count / grain < kGrainsToWake
                                    ? 1
                                    : std::min(threads, count / (kGrainsPerWokenThread * grain));
  Job job(work, count, {chunk, kMaxGrainsPerChunk * grain}, threads, wakeable);
  pool().run(job);
  throw_if_stopped();
  return job.passed();
}

void run_pieces(std::int64_t pieces, const RangeWork& work) {
  const std::int64_t threads = std::min<std::int64_t>(thread_limit(), pieces);
  if (threads <= 1) {
    run_serial(work, pieces, 1);
  } else {
    Job job(work, pieces, {1, 1}, threads, threads);
    pool().run(job);
  }
  throw_if_stopped();
}

ExternalSpinner::ExternalSpinner() { pool().add_external(1); }
ExternalSpinner::~ExternalSpinner() { pool().add_external(-1); }

void expect_work(std::chrono::nanoseconds within) { pool().expect_work(Clock::now() + within); }

}  // namespace gpukern::cpu

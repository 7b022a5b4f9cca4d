// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/threading/parallel.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "src/threading/busy_cores.hpp"
#include "src/threading/job.hpp"
#include "src/threading/job_table.hpp"
#include "src/threading/spin.hpp"
#include "src/threading/thread_limit.hpp"

namespace gpukern::cpu {
namespace {

// Sleepers that one thread wakes, which wake others in turn: in a row, the last of 16 would come
// when the work is done, and to wake them all would keep one thread from it.
constexpr int kWakes = 3;

// A thread that has to be woken comes when some grains are done by the others, and costs who wakes
// it as much: a call has to have so many grains for it, and twice as many a thread as otherwise.
constexpr std::int64_t kGrainsToWake = 8;
constexpr std::int64_t kGrainsOfWoken = 2;

// Where threads are many, their cores are far from each other, and the second of two comes late:
// for 1000 items of 4 bytes, two grains, two of 16 took 5.0 us, NumPy's one 4.2. Two of 2 took 2.9,
// our one 4.0, NumPy's 3.9.
constexpr int kNearThreads = 4;
constexpr std::int64_t kFarGrains = 3;

// Shorter calls that follow each other within kLook wake threads as well, after so many of them:
// the next ones find those awake.
constexpr int kBurst = 2;

// Ranges per thread, so that fast threads take work off slow ones. Of its own a thread takes one or
// so many grains at once: others may have to wait for it for that long.
constexpr std::int64_t kRangesPerThread = 16;
constexpr std::int64_t kGrainsAtOnce = 2;

/// Threads that help the callers of one process. Never destroyed: it ends with the process.
class Pool {
 public:
  void run(Job& job) {
    if (const std::optional<int> unwoken = offered(job))
      share(job, *unwoken);
    else
      job.work_alone();
    ended_.store(Clock::now(), std::memory_order_relaxed);
  }

  /// Threads at work that are none of the pool's, more or fewer.
  void count_others(int more) {
    threads_.fetch_add(static_cast<std::uint64_t>(more) * kBusy);
    wake(lacking());
  }

  void expect_work(Clock::time_point end) { expected_.store(end, std::memory_order_relaxed); }

 private:
  // Two counts in one number, which change together.
  static constexpr std::uint64_t kBusy = 1;
  static constexpr std::uint64_t kLooking = std::uint64_t{1} << 32;
  static int busy(std::uint64_t threads) { return static_cast<int>(threads % kLooking); }
  static int looking(std::uint64_t threads) { return static_cast<int>(threads / kLooking); }

  /// Whether a helper may begin: callers and helpers at work together keep to the limit.
  [[nodiscard]] bool wants_helper() const {
    return board_.has_seats() && busy(threads_.load()) < thread_limit();
  }

  /// How many helpers the jobs lack, beside those that come by themselves, as far as one
  /// thread is to wake them.
  [[nodiscard]] int lacking() const {
    const int worth_it = board_.worth_waking();
    if (worth_it == 0) return 0;
    const std::uint64_t threads = threads_.load();
    return std::clamp(std::min(worth_it, thread_limit() - busy(threads)) - looking(threads), 0,
                      kWakes);
  }

  /// A thread that is about to sleep counts itself, and then looks at the board once more: either
  /// it sees what is offered there, or it is seen here.
  void wake(int helpers) {
    if (helpers == 0 || sleeping_.load() == 0) return;
    // None is between that look and its sleep then.
    lock_soon(mutex_).unlock();
    for (int i = 0; i < helpers; ++i) work_.notify_one();
  }

  /// Whether this is one of many short jobs, each soon behind the last.
  bool in_burst() {
    int jobs = burst_.load(std::memory_order_relaxed);
    if (Clock::now() > ended_.load(std::memory_order_relaxed) + kLook) jobs = 0;
    jobs = std::min(jobs + 1, kBurst + 1);
    burst_.store(jobs, std::memory_order_relaxed);
    return jobs > kBurst;
  }

  /// Seats that no sleeper is worth being woken for; none at all where nobody would come.
  std::optional<int> offered(const Job& job) {
    if (job.unwoken < job.seats) return job.unwoken;
    if (in_burst()) return 0;
    if (looking(threads_.load()) > 0) return job.unwoken;
    return std::nullopt;
  }

  /// Works on a job with those who come; alone, if the board is full.
  void share(Job& job, int unwoken) {
    threads_.fetch_add(kBusy);
    cores_.begin(job.core);
    const int post = board_.offer(job, job.seats, unwoken);
    if (post == Board::kNone) {
      job.work_alone();
    } else {
      start_helpers(job.seats - unwoken, job.core);
      wake(lacking());
      job.work(0);
      job.left.fetch_sub(board_.close(post));
    }
    cores_.end(job.core);
    threads_.fetch_sub(kBusy);
    wake(lacking());
    if (post == Board::kNone) return;
    wait_for_helpers(job);
    board_.clear(post);
  }

  void wait_for_helpers(const Job& job) {
    const auto finished = [&job] { return job.left.load() == 0; };
    if (look_for(finished)) return;
    std::unique_lock lock(mutex_);
    ++waiting_;
    finished_.wait(lock, finished);
    --waiting_;
  }

  void start_helpers(int wanted, int callers_core) {
    if (helpers_.load(std::memory_order_relaxed) >= wanted) return;
    const auto lock = lock_soon(mutex_);
    while (helpers_ < wanted && start_helper(static_cast<std::size_t>(helpers_) + 1, callers_core))
      ++helpers_;
  }

  bool start_helper(std::size_t number, int callers_core) {
    // Signals are for the threads of the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = true;
    threads_.fetch_add(kLooking);
    try {
      std::thread([this, number, callers_core] { help(number, callers_core); }).detach();
    } catch (...) {  // no more threads, or no memory for one: the caller works on alone
      threads_.fetch_sub(kLooking);
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

  /// The core is that of the last caller who was helped.
  [[noreturn]] void help(std::size_t number, int callers_core) {
    process_cores().use();
    const auto wanted = [this] { return wants_helper(); };
    Clock::time_point end{};
    for (bool moved = false;;) {
      std::optional<HeldCore> held;
      if (!look_for(wanted, end)) {
        held.emplace(callers_core);
        sleep();
      }
      // On a core where others work already it would only take turns with them.
      const int core = sched_getcpu();
      if (!moved && cores_.has(core)) {
        held.reset();
        process_cores().leave(cores_.all());
        moved = true;
        continue;
      }
      moved = false;
      const Board::Seat seat = join();
      if (seat.job == nullptr) continue;  // others were faster
      callers_core = seat.job->core;
      cores_.begin(core);
      wake(lacking());
      held.reset();
      seat.job->work(number);
      board_.close(seat.post);  // nothing is left to take
      cores_.end(core);
      const std::uint64_t before = threads_.fetch_add(kLooking - kBusy);
      leave(*seat.job);
      // Only those that would find a core to work on may look on for long.
      end = looking(before) + busy(before) <= thread_limit()
                ? expected_.load(std::memory_order_relaxed)
                : Clock::time_point{};
    }
  }

  void sleep() {
    auto lock = lock_soon(mutex_);
    ++sleeping_;
    threads_.fetch_sub(kLooking);
    work_.wait(lock, [this] { return wants_helper(); });
    threads_.fetch_add(kLooking);
    --sleeping_;
  }

  /// A seat in the job that it is at work on from now on, if any has one left.
  Board::Seat join() {
    std::uint64_t threads = threads_.load();
    do {
      if (busy(threads) >= thread_limit()) return {};
    } while (!threads_.compare_exchange_weak(threads, threads + kBusy - kLooking));
    const Board::Seat seat = board_.join();
    if (seat.job == nullptr) threads_.fetch_add(kLooking - kBusy);
    return seat;
  }

  /// The job may be gone then. Whoever waits for its last helper either has counted itself before,
  /// or sees that.
  void leave(Job& job) {
    if (job.left.fetch_add(1) != -1 || waiting_.load() == 0) return;
    const auto lock = lock_soon(mutex_);
    finished_.notify_all();
  }

  Board board_;
  alignas(64) std::atomic<std::uint64_t> threads_{0};  ///< at work, and looking for work
  alignas(64) BusyCores cores_;
  std::atomic<Clock::time_point> ended_;     ///< when the last job did
  std::atomic<Clock::time_point> expected_;  ///< till when more work may come, see expect_work()
  std::atomic<int> burst_{0};                ///< short jobs in a row, each soon behind another
  std::atomic<int> helpers_{0};              ///< threads that were started
  std::atomic<int> sleeping_{0};             ///< of them, those that wait for work
  std::atomic<int> waiting_{0};              ///< callers that wait for helpers

  std::mutex mutex_;  ///< to sleep with
  std::condition_variable work_;
  std::condition_variable finished_;
};

std::atomic<Pool*> current_pool{nullptr};

// In the child of a fork() the threads are gone, and their pool with whatever it had locked.
[[maybe_unused]] const int kWatching =
    pthread_atfork(nullptr, nullptr, [] { current_pool.store(nullptr); });

Pool& pool() {
  Pool* found = current_pool.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  auto made = std::make_unique<Pool>();
  if (!current_pool.compare_exchange_strong(found, made.get())) return *found;
  return *made.release();
}

}  // namespace

int threads_for(std::int64_t count, std::int64_t grain) {
  // As few do with less than two grains, without a question to the limit.
  if (count < 2 * grain) return 1;
  const int limit = thread_limit();
  if (limit > kNearThreads && count < kFarGrains * grain) return 1;
  return static_cast<int>(std::min<std::int64_t>(limit, count / grain));
}

bool run_parallel(std::int64_t count, std::int64_t grain, const RangeWork& work) {
  const std::int64_t threads = threads_for(count, grain);
  if (threads <= 1) return run_alone(work, count);
  // A thread that comes late leaves a part of its grain to others. Ranges of whole cache lines,
  // where there are that many positions.
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kRangesPerGrain = 2;
  std::int64_t range = std::max(grain / kRangesPerGrain, count / (threads * kRangesPerThread)) + 1;
  if (range >= kLine) range = (range + kLine - 1) / kLine * kLine;
  const std::int64_t woken =
      count / grain < kGrainsToWake ? 1 : std::min(threads, count / (kGrainsOfWoken * grain));
  Job job(work, count, {range, kGrainsAtOnce * grain}, threads, woken);
  pool().run(job);
  return job.accepted();
}

TakenCore::TakenCore() { pool().count_others(1); }
TakenCore::~TakenCore() { pool().count_others(-1); }

void expect_work(std::chrono::nanoseconds soon) { pool().expect_work(Clock::now() + soon); }

}  // namespace gpukern::cpu

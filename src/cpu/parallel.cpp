// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "../parallel.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "job.hpp"
#include "spin.hpp"
#include "thread_limit.hpp"

namespace gpukern::cpu {
namespace {

// Sleepers that one thread wakes, which wake others in turn: in a row, the last of 16 would come
// when the work is done, and to wake them all would keep one thread from it.
constexpr int kWakes = 3;

// A thread that has to be woken comes when some grains are done by the others, and costs who wakes
// it as much: a call has to have so many grains for it, and twice as many a thread as otherwise.
constexpr std::int64_t kGrainsToWake = 8;
constexpr std::int64_t kGrainsOfWoken = 2;

// Shorter calls that follow each other within kLook wake threads as well, after so many of them:
// the next ones find those awake.
constexpr int kBurst = 2;

// Ranges per thread, so that fast threads take work off slow ones.
constexpr std::int64_t kRangesPerThread = 16;

/// Threads that help the callers of one process. Never destroyed: it ends with the process.
class Pool {
 public:
  void run(Job& job) {
    int sleepers = 0;
    if (open(job, sleepers)) {
      wake(sleepers);
      job.work(0);
      close(job);
    } else {
      job.work_alone();
    }
    ended_.store(Clock::now(), std::memory_order_relaxed);
  }

  /// Threads at work that are none of the pool's, more or fewer.
  void count_others(int more) {
    int helpers = 0;
    {
      const auto lock = lock_soon(mutex_);
      busy_ += more;
      show();
      helpers = lacking();
    }
    wake(helpers);
  }

  void expect_work(Clock::time_point end) {
    const auto lock = lock_soon(mutex_);
    expected_ = end;
  }

 private:
  /// Whether a helper may begin: callers and helpers at work together keep to the limit.
  [[nodiscard]] bool wants_helper() const { return !jobs_.empty() && busy_ < thread_limit(); }

  /// How many helpers the jobs lack, beside those that come by themselves, as far as one
  /// thread is to wake them.
  [[nodiscard]] int lacking() const {
    if (!wants_helper()) return 0;
    int worth_it = 0;
    for (const Job* job : jobs_)
      worth_it += job->wanted > job->unwoken ? job->wanted - job->unwoken : 0;
    return std::clamp(std::min(worth_it, thread_limit() - busy_) - looking_, 0, kWakes);
  }

  void wake(int helpers) {
    for (int i = 0; i < helpers; ++i) work_.notify_one();
  }

  // A thread begins to work on a core, and ends.
  void begin(int core) {
    ++busy_;
    if (core >= 0) CPU_SET(core, &busy_cores_);
  }
  void end(int core) {
    --busy_;
    if (core >= 0) CPU_CLR(core, &busy_cores_);
  }

  /// Shows the state to helpers that look on without the lock. Behind every change of it.
  void show() { wants_helper_.store(wants_helper(), std::memory_order_relaxed); }

  /// Whether this is one of many short jobs, each soon behind the last.
  bool in_burst() {
    if (Clock::now() > ended_.load(std::memory_order_relaxed) + kLook) burst_ = 0;
    burst_ = std::min(burst_ + 1, kBurst + 1);
    return burst_ > kBurst;
  }

  /// Tells how many helpers to wake, as `lacking`. False where nobody would come.
  bool open(Job& job, int& sleepers) {
    const auto lock = lock_soon(mutex_);
    if (job.unwoken == job.wanted) {
      if (in_burst())
        job.unwoken = 0;
      else if (looking_ == 0)
        return false;
    }
    jobs_.push_back(&job);
    begin(job.core);
    for (; helpers_ < job.wanted - job.unwoken; ++helpers_, ++looking_)
      if (!start_helper(static_cast<std::size_t>(helpers_) + 1, job.core)) break;
    show();
    sleepers = lacking();
    return true;
  }

  /// No helper joins any more, and those at work have finished.
  void close(Job& job) {
    int more = 0;
    {
      const auto lock = lock_soon(mutex_);
      end(job.core);
      std::erase(jobs_, &job);
      show();
      more = lacking();
    }
    wake(more);
    auto finished = [&job] { return job.helpers.load(std::memory_order_acquire) == 0; };
    if (look_for(finished)) return;
    std::unique_lock lock(mutex_);
    finished_.wait(lock, finished);
  }

  bool start_helper(std::size_t number, int callers_core) {
    // Signals are for the threads of the program.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = true;
    try {
      std::thread([this, number, callers_core] { help(number, callers_core); }).detach();
    } catch (...) {  // no more threads, or no memory for one: the caller works on alone
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

  /// The core is that of the last caller who was helped.
  [[noreturn]] void help(std::size_t number, int callers_core) {
    process_cores().use();
    Clock::time_point end{};
    for (bool moved = false;;) {
      const auto wanted = [this] { return wants_helper_.load(std::memory_order_relaxed); };
      std::optional<HeldCore> held;
      if (!look_for(wanted, end)) held.emplace(callers_core);
      auto lock = lock_soon(mutex_);
      if (!held && !wants_helper()) continue;  // others were faster
      --looking_;
      work_.wait(lock, [this] { return wants_helper(); });
      // On a core where others work already it would only take turns with them.
      const int core = sched_getcpu();
      if (!moved && core >= 0 && CPU_ISSET(core, &busy_cores_)) {
        const cpu_set_t taken = busy_cores_;
        ++looking_;
        lock.unlock();
        held.reset();
        process_cores().leave(taken);
        moved = true;
        continue;
      }
      moved = false;
      callers_core = jobs_.front()->core;
      take_part(lock, number, core, held);
      // Only those that would find a core to work on may look on for long.
      end = ++looking_ + busy_ <= thread_limit() ? expected_ : Clock::time_point{};
    }
  }

  /// Works on the first job.
  void take_part(std::unique_lock<std::mutex>& lock, std::size_t number, int core,
                 std::optional<HeldCore>& held) {
    Job& job = *jobs_.front();
    begin(core);
    job.helpers.fetch_add(1, std::memory_order_relaxed);
    if (--job.wanted == 0) std::erase(jobs_, &job);
    show();
    const int more = lacking();
    lock.unlock();
    wake(more);
    held.reset();
    job.work(number);
    lock = lock_soon(mutex_);
    end(core);
    show();
    // The last look at the job, which may be gone then.
    if (job.helpers.fetch_sub(1, std::memory_order_release) == 1) finished_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable finished_;
  std::vector<Job*> jobs_;  ///< those that want helpers
  std::atomic<bool> wants_helper_{false};
  std::atomic<Clock::time_point> ended_;  ///< when the last job did
  int burst_ = 0;               ///< short jobs in a row, each soon behind the end of another
  Clock::time_point expected_;  ///< till when more work may come, see expect_work()
  int helpers_ = 0;             ///< threads that were started
  int looking_ = 0;             ///< of them, those that look for work without the lock
  int busy_ = 0;                ///< callers and helpers at work
  cpu_set_t busy_cores_{};      ///< where they began, as far as is known
};

std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
  // In the child of a fork() the threads are gone, and their pool with whatever it had locked.
  static const int watching = pthread_atfork(nullptr, nullptr, [] { current_pool.store(nullptr); });
  static_cast<void>(watching);
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
  return static_cast<int>(std::min<std::int64_t>(thread_limit(), count / grain));
}

void run_parallel(std::int64_t count, std::int64_t grain, RangeBody body, const void* context) {
  const std::int64_t threads = threads_for(count, grain);
  if (threads <= 1) {
    body(context, 0, count);
    return;
  }
  // A thread that comes late leaves a part of its grain to others. Ranges of whole cache lines,
  // where there are that many positions.
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kRangesPerGrain = 2;
  std::int64_t range = std::max(grain / kRangesPerGrain, count / (threads * kRangesPerThread)) + 1;
  if (range >= kLine) range = (range + kLine - 1) / kLine * kLine;
  const std::int64_t woken =
      count / grain < kGrainsToWake ? 1 : std::min(threads, count / (kGrainsOfWoken * grain));
  Job job(body, context, count, range, threads, woken);
  pool().run(job);
}

TakenCore::TakenCore() { pool().count_others(1); }
TakenCore::~TakenCore() { pool().count_others(-1); }

void expect_work(std::chrono::nanoseconds soon) { pool().expect_work(Clock::now() + soon); }

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Host arrays large enough for several threads, from several concurrent callers.

#include <dirent.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support.hpp"

namespace gpukern_test {
namespace {

/// Calls both operations on `count` elements and compares every element.
void compute(std::int64_t count, int first) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<float> x(size);
  std::vector<float> out(size, -1);
  std::vector<std::int64_t> index(size);
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = static_cast<float>((i + static_cast<std::size_t>(first)) % 65536);
    index[i] = -1 - static_cast<std::int64_t>(i);
  }
  const gpukern_tensor xs{x.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &count, nullptr, 0};
  const gpukern_tensor to{out.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &count, nullptr, 0};
  const gpukern_tensor at{index.data(), kCpu, 1, {GPUKERN_INT, 64, 1}, &count, nullptr, 0};
  const float a = 2;
  ASSERT_EQ(gpukern_saxpy(&a, &xs, &xs, &to, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[i], 3 * x[i]) << i << " of " << size;
  ASSERT_EQ(call_gather(&xs, &at, 0, &to, gather_options(GPUKERN_INDEX_RAISE), nullptr),
            GPUKERN_SUCCESS);
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[i], x[size - 1 - i]) << i << " of " << size;
}

TEST(ParallelTest, RangesCoverEverySize) {
  for (const std::int64_t base : {1 << 14, 1 << 15, 3 << 14, 1 << 18})
    for (std::int64_t count = base - 2; count <= base + 2; ++count) compute(count, 0);
  Random random(std::random_device{}());
  for (int round = 0; round < 20; ++round)
    compute(static_cast<std::int64_t>(random() % 400000), static_cast<int>(random() % 1000));
}

TEST(ParallelTest, CallersShareTheThreads) {
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([caller] {
      for (int round = 0; round < 20; ++round) compute(50000 + 7001 * round, caller);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// More callers than the job table has slots.
TEST(ParallelTest, ManyConcurrentCallers) {
  constexpr int kCallers = 70;
  std::barrier together(kCallers);
  std::vector<std::thread> callers;
  callers.reserve(kCallers);
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&together, caller] {
      for (int round = 0; round < 2; ++round) {
        together.arrive_and_wait();
        compute(100000, caller);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// Calls so short that helpers join while others depart and the next call begins.
TEST(ParallelTest, HelpersComeAndGo) {
  ASSERT_EQ(gpukern_set_num_threads(4), GPUKERN_SUCCESS);
  std::vector<std::thread> callers;
  callers.reserve(2);
  for (int caller = 0; caller < 2; ++caller) {
    callers.emplace_back([caller] {
      std::int64_t count = 70000;
      std::vector<float> x(static_cast<std::size_t>(count), static_cast<float>(caller));
      std::vector<float> out(x.size(), 0);
      const gpukern_tensor xs{x.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &count, nullptr, 0};
      const gpukern_tensor to{out.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &count, nullptr, 0};
      const float one = 1;
      for (int round = 1; round <= 1000; ++round) {
        ASSERT_EQ(gpukern_saxpy(&one, &xs, &to, &to, nullptr), GPUKERN_SUCCESS);
        if (round % 10 > 0) continue;
        for (const float sum : out) ASSERT_EQ(sum, static_cast<float>(round * caller));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  ASSERT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

/// The numbers of this process's threads.
std::vector<pid_t> thread_ids() {
  std::vector<pid_t> ids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/task"), &closedir);
  if (folder == nullptr) return ids;
  while (const dirent* entry = readdir(folder.get()))  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] != '.')
      ids.push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
  return ids;
}

/// Whether this is a build for ThreadSanitizer, which starts a thread and does not support threads
/// in the child of a fork().
#ifdef __SANITIZE_THREAD__
constexpr bool kSanitizesThreads = true;
#else
constexpr bool kSanitizesThreads = false;
#endif

/// The exit status of the child of a fork(), in which only the calling thread exists.
template <class Work>
int in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    const int status = work();
    _exit(testing::Test::HasFailure() ? 99 : status);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ParallelTest, TheNumberOfThreadsCanBeSetAndReset) {
  const std::int32_t before = gpukern_num_threads();
  EXPECT_GE(before, 1);
  EXPECT_EQ(gpukern_set_num_threads(-1), GPUKERN_VALUE_ERROR);
  EXPECT_EQ(gpukern_num_threads(), before);
  EXPECT_EQ(gpukern_set_num_threads(7), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_num_threads(), 7);
  compute(300000, 0);
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_num_threads(), before);
}

// The system decides whether a call gets help; that helpers exist is tested.
TEST(ParallelTest, HelpersStartUpToTheLimit) {
  if (kSanitizesThreads) GTEST_SKIP() << "ThreadSanitizer";
  for (const int allowed : {1, 2, 3}) {
    ASSERT_EQ(gpukern_set_num_threads(allowed), GPUKERN_SUCCESS);
    EXPECT_EQ(in_child([] {
                compute(400000, 0);
                return static_cast<int>(thread_ids().size());
              }),
              allowed);
  }
  ASSERT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

TEST(ParallelTest, BurstsOfShortCallsGetAHelper) {
  if (kSanitizesThreads) GTEST_SKIP() << "ThreadSanitizer";
  ASSERT_EQ(gpukern_set_num_threads(2), GPUKERN_SUCCESS);
  const int failure = in_child([] {
    std::int64_t count = 40000;
    std::vector<float> x(static_cast<std::size_t>(count), 1);
    std::vector<float> out(x.size());
    const gpukern_tensor xs{x.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &count, nullptr, 0};
    const gpukern_tensor to{out.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &count, nullptr, 0};
    const float a = 2;
    const auto call = [&] { return gpukern_saxpy(&a, &xs, &xs, &to, nullptr) == GPUKERN_SUCCESS; };
    if (!call() || thread_ids().size() != 1) return 1;
    for (int i = 0; i < 10000 && thread_ids().size() == 1; ++i)
      for (int k = 0; k < 10; ++k)
        if (!call()) return 2;
    return thread_ids().size() == 2 ? 0 : 3;
  });
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
  EXPECT_EQ(failure, 0);
}

/// Waits, for seconds at most, until `right` is true for the cores of all other threads.
template <class Right>
bool cores_come_to(const Right& right) {
  for (int tries = 0; tries < 5000; ++tries) {
    std::vector<cpu_set_t> found;
    for (const pid_t id : thread_ids()) {
      cpu_set_t cores;
      if (id != getpid() && sched_getaffinity(id, sizeof cores, &cores) == 0)
        found.push_back(cores);
    }
    if (right(found)) return true;
    usleep(1000);
  }
  return false;
}

class HelperCoresTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitizesThreads) GTEST_SKIP() << "ThreadSanitizer";
    ASSERT_EQ(sched_getaffinity(0, sizeof all_, &all_), 0);
    if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "one core";
    ASSERT_EQ(gpukern_set_num_threads(2), GPUKERN_SUCCESS);
  }
  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(sched_setaffinity(0, sizeof all_, &all_), 0);
    EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
  }
  int bind_to_first() {
    int core = 0;
    while (!CPU_ISSET(core, &all_)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    return core;
  }

  cpu_set_t all_{};
};

TEST_F(HelperCoresTest, WorkingHelpersUseAllCoresOfTheProcess) {
  bind_to_first();
  const int failure = in_child([this] {
    std::atomic<bool> seen{false};
    std::thread caller([&seen] {
      while (!seen) compute(400000, 0);
    });
    seen = cores_come_to([this](const std::vector<cpu_set_t>& found) {
      return std::ranges::any_of(
          found, [this](const cpu_set_t& cores) { return CPU_EQUAL(&cores, &all_); });
    });
    const bool right = seen.exchange(true);
    caller.join();
    return right ? 0 : 1;
  });
  EXPECT_EQ(failure, 0);
}

// On that core it would wait for its turn while the other one is idle.
TEST_F(HelperCoresTest, SleepingHelpersAvoidTheCoreOfTheirCaller) {
  const int core = bind_to_first();
  const int failure = in_child([core] {
    compute(400000, 0);
    const bool off = cores_come_to([core](const std::vector<cpu_set_t>& found) {
      return found.size() == 1 && !CPU_ISSET(core, &found.front());
    });
    return off ? 0 : 1;
  });
  EXPECT_EQ(failure, 0);
}

}  // namespace
}  // namespace gpukern_test

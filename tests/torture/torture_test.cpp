// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Makes the n-th fallible call of a scenario fail, for n = 1, 2, ... until it makes fewer calls:
// once, and with all calls after it. Each failure has its status, changes no operand but results,
// and holds nothing; the next call is right.
//
// Each scenario runs in child processes, in which nothing of the library has been used: in ColdTest
// a new one for each n, in WarmTest one for all. A child that crashes or hangs fails the test.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <ostream>
#include <string>

#include "backend.hpp"
#include "case.hpp"
#include "faults.hpp"

namespace gpukern_torture {

std::ostream& operator<<(std::ostream& text, const Scenario& scenario) {
  return text << scenario.name;
}

namespace {

constexpr std::size_t kMostContents = std::size_t{8} << 20;

/// What a call has done, for comparison.
struct Outcome {
  gpukern_status status;
  char message[1024];
  std::size_t size;
  std::byte contents[kMostContents];
};

/// Memory that children share with the test.
struct Shared {
  Outcome expected;
  std::int64_t number;  ///< of the call that fails
  bool for_good;        ///< all later ones fail, too
  bool is_last;         ///< no call had this number
  bool has_gpu;
  char site[100];  ///< the call that failed
  char problem[2000];
};

Shared& shared() {
  static auto& memory = *new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  return memory;
}

/// Runs the function in a child process. Returns false if that did not end well.
bool in_child(const std::function<void()>& function) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSecondsOfChild);
    function();
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  std::filesystem::remove_all(directory_of(child));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return shared().problem[0] == '\0';
  if (shared().problem[0] == '\0')
    std::snprintf(shared().problem, sizeof Shared::problem, "the process ended with status %#x%s",
                  status, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": it hung" : "");
  return false;
}

class Tortured {
 public:
  explicit Tortured(const Scenario& scenario) : case_(scenario.placement) { scenario.make(case_); }

  void store_expected() {
    Outcome& expected = shared().expected;
    case_.reset();
    expected.status = case_.call();
    std::snprintf(expected.message, sizeof expected.message, "%s", gpukern_last_error());
    const Bytes contents = case_.contents();
    if (contents.size() > kMostContents) return note("the operands are too large");
    expected.size = contents.size();
    std::memcpy(expected.contents, contents.data(), contents.size());
  }

  void run_clean() {
    case_.reset();
    const gpukern_status status = case_.call();
    check_complete(status, "the next call");
  }

  /// Lets the call with the number in shared() fail. Returns false if there was none.
  bool run_failing() {
    case_.reset();
    const std::uintptr_t before = thread_state();
    start(shared().number, shared().for_good);
    const gpukern_status status = case_.call();
    const Failures failures = stop();
    std::snprintf(shared().site, sizeof Shared::site, "%s",
                  failures.first != nullptr ? failures.first->name : "none");
    check_status(status, failures);
    if (thread_state() != before) note("the current context or the last error has changed");
    return failures.first != nullptr;
  }

 private:
  static void note(const std::string& problem) {
    std::snprintf(shared().problem, sizeof Shared::problem, "%s", problem.c_str());
  }

  /// A result or an error as without a failure.
  void check_complete(gpukern_status status, const char* what) {
    const Outcome& expected = shared().expected;
    if (status != expected.status)
      return note(std::string(what) + " returned " + gpukern_status_name(status) + ": " +
                  gpukern_last_error());
    if (status != GPUKERN_SUCCESS && std::strcmp(expected.message, gpukern_last_error()) != 0)
      return note(std::string(what) + " has the message: " + gpukern_last_error());
    const Bytes contents = case_.contents();
    if (std::memcmp(contents.data(), expected.contents, contents.size()) != 0)
      note(std::string(what) + " gave a wrong result");
  }

  void check_status(gpukern_status status, const Failures& failures) {
    const Outcome& expected = shared().expected;
    // The library may do without memory, and without answers.
    if (!failures.gpu && ((!failures.memory && !failures.query) || status == expected.status))
      return check_complete(status, "the call");
    const bool is_due = (failures.memory && status == GPUKERN_MEMORY_ERROR) ||
                        ((failures.gpu || failures.query) && status == GPUKERN_CUDA_ERROR) ||
                        (failures.absent && status == GPUKERN_DEVICE_ERROR);
    if (!is_due)
      return note(std::string("the call returned ") + gpukern_status_name(status) + ": " +
                  gpukern_last_error());
    if (gpukern_last_error()[0] == '\0') return note("there is no message");
    const Bytes contents = case_.contents();
    for (std::size_t k = 0; k < contents.size(); ++k)
      if (case_.constant()[k] && contents[k] != expected.contents[k])
        return note("an operand has changed at byte " + std::to_string(k));
  }

  Case case_;
};

/// What differs between two counts; empty if nothing.
std::string difference(const Holdings& before, const Holdings& after) {
  constexpr const char* kNames[] = {"blocks", "pieces of GPU memory", "streams", "events", "files",
                                    "ranges"};
  std::string text;
  for (std::size_t k = 0; k < before.size(); ++k)
    if (after[k] > before[k])
      text += std::to_string(after[k] - before[k]) + " more " + kNames[k] + " ";
  return text;
}

/// Caches may grow once, leaks grow each time.
constexpr int kRepeats = 4;

/// Where threads share work, the number of calls varies: three calls in a row must lack the n-th
/// one.
constexpr int kLastOnes = 3;

void torture_warm(const Scenario& scenario) {
  Tortured tortured(scenario);
  tortured.run_clean();
  tortured.run_clean();
  for (const bool for_good : {false, true}) {
    shared().for_good = for_good;
    shared().number = 0;
    for (int without = 0; without < kLastOnes;) {
      ++shared().number;
      std::string leak;
      for (int k = 0; k < kRepeats; ++k) {
        const Holdings before = holdings();
        without = tortured.run_failing() ? 0 : without + 1;
        if (shared().problem[0] == '\0') tortured.run_clean();
        if (shared().problem[0] != '\0') return;
        leak = difference(before, holdings());
        if (leak.empty()) break;
      }
      if (leak.empty()) continue;
      std::snprintf(shared().problem, sizeof Shared::problem, "leak: %s", leak.c_str());
      return;
    }
  }
}

void torture_cold(const Scenario& scenario) {
  Tortured tortured(scenario);
  shared().is_last = !tortured.run_failing();
  if (shared().problem[0] == '\0') tortured.run_clean();
}

class WarmTest : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    shared().problem[0] = '\0';
    ASSERT_TRUE(in_child([] { shared().has_gpu = is_present(); })) << shared().problem;
    if (!shared().has_gpu) GTEST_SKIP() << "no CUDA device";
    ASSERT_TRUE(in_child([] { Tortured(GetParam()).store_expected(); })) << shared().problem;
  }
  static std::string where() {
    return "call " + std::to_string(shared().number) + " (" + shared().site + ") failed" +
           (shared().for_good ? ", and all later ones: " : ": ") + shared().problem;
  }
};

class ColdTest : public WarmTest {};

TEST_P(WarmTest, EachCallFails) {
  EXPECT_TRUE(in_child([] { torture_warm(GetParam()); })) << where();
}

TEST_P(ColdTest, EachCallFails) {
  for (const bool for_good : {false, true}) {
    shared().for_good = for_good;
    shared().is_last = false;
    for (shared().number = 1; !shared().is_last; shared().number += kColdStep)
      ASSERT_TRUE(in_child([] { torture_cold(GetParam()); })) << where();
  }
}

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (const Named& one : operation_scenarios())
    for (const auto& [suffix, placement] :
         {std::pair("_cpu", Placement::Cpu), std::pair("_host_on_gpu", Placement::HostOnGpu),
          std::pair("_gpu", Placement::Gpu)})
      all.push_back({one.name + std::string(suffix), placement, one.make});
  for (const auto& more : {gpu_scenarios(), cache_scenarios(), backend_scenarios()})
    for (const Named& one : more) all.push_back({one.name, Placement::Gpu, one.make});
  std::erase_if(all, [](const Scenario& one) { return !is_known(one.name); });
  return all;
}

std::vector<Scenario> cold_scenarios() {
  std::vector<Scenario> all = all_scenarios();
  std::erase_if(all, [](const Scenario& one) { return !runs_cold(one.name); });
  return all;
}

std::string name_of(const testing::TestParamInfo<Scenario>& given) { return given.param.name; }

INSTANTIATE_TEST_SUITE_P(Scenarios, WarmTest, testing::ValuesIn(all_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(Scenarios, ColdTest, testing::ValuesIn(cold_scenarios()), name_of);

}  // namespace
}  // namespace gpukern_torture

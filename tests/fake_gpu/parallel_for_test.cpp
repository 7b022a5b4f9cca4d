// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// parallel_for() and parallel_pieces(): each position is visited once, and none before all are
// checked.

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "src/threading/thread_pool.hpp"
#include "support.hpp"

namespace gpukern_test {
namespace {

using gpukern::cpu::parallel_for;
using gpukern::cpu::parallel_for_if_all;

/// The number of visits of each position; atomic, to detect concurrent visits of the same one.
class Visits {
 public:
  explicit Visits(std::int64_t count) : visits_(static_cast<std::size_t>(count)) {}
  void add(std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) ++visits_[static_cast<std::size_t>(i)];
  }
  void expect(int times) const {
    for (std::size_t i = 0; i < visits_.size(); ++i)
      ASSERT_EQ(visits_[i], times) << i << " of " << visits_.size();
  }

 private:
  std::vector<std::atomic<int>> visits_;
};

constexpr std::int64_t kGrain = 100;

// Zero, below two grains, a few, and many more than the threads take at a time; not only multiples
// of a range.
constexpr std::int64_t kCounts[] = {0, 1, 199, 200, 201, 777, 1000, 4096, 6401, 100'003};

class ParallelForTest : public testing::Test {
 protected:
  // There may be fewer cores: some threads then wait for others that do not run.
  ParallelForTest() { EXPECT_EQ(gpukern_set_num_threads(4), GPUKERN_SUCCESS); }
  ~ParallelForTest() override { EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS); }
};

TEST_F(ParallelForTest, VisitsEachPositionOnce) {
  for (const std::int64_t count : kCounts) {
    Visits visits(count);
    parallel_for(count, kGrain,
                 [&](std::int64_t begin, std::int64_t end) { visits.add(begin, end); });
    visits.expect(1);
  }
}

TEST_F(ParallelForTest, VisitsEachPieceOnce) {
  for (const std::int64_t pieces : {0, 1, 2, 3, 4, 5, 100}) {
    Visits visits(pieces);
    gpukern::cpu::parallel_pieces(pieces, [&](std::int64_t k) { visits.add(k, k + 1); });
    visits.expect(1);
  }
}

TEST_F(ParallelForTest, ChecksAllBeforeTheFirstVisit) {
  for (int round = 0; round < rounds(50); ++round) {
    for (const std::int64_t count : kCounts) {
      Visits checks(count);
      Visits visits(count);
      std::atomic<std::int64_t> checked{0};
      std::atomic<bool> early{false};
      EXPECT_TRUE(parallel_for_if_all(
          count, kGrain,
          [&](std::int64_t begin, std::int64_t end) {
            checks.add(begin, end);
            if (begin == 0) std::this_thread::yield();  // others finish first
            checked += end - begin;
            return true;
          },
          [&](std::int64_t begin, std::int64_t end) {
            if (checked != count) early = true;
            visits.add(begin, end);
          }));
      EXPECT_FALSE(early) << count;
      checks.expect(1);
      visits.expect(1);
    }
  }
}

TEST_F(ParallelForTest, VisitsNoneIfOneIsRefused) {
  for (const std::int64_t count : kCounts) {
    if (count == 0) continue;
    for (const std::int64_t refused : {std::int64_t{0}, count / 2, count - 1}) {
      Visits visits(count);
      EXPECT_FALSE(parallel_for_if_all(
          count, kGrain,
          [&](std::int64_t begin, std::int64_t end) { return refused < begin || refused >= end; },
          [&](std::int64_t begin, std::int64_t end) { visits.add(begin, end); }));
      visits.expect(0);
    }
  }
}

TEST_F(ParallelForTest, CallersThatCheckShareTheThreads) {
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([caller] {
      for (int round = 0; round < 30; ++round) {
        const std::int64_t count = 20 * kGrain + std::int64_t{997} * round;
        const bool good = (caller + round) % 3 != 0;
        Visits visits(count);
        EXPECT_EQ(
            parallel_for_if_all(
                count, kGrain, [&](std::int64_t, std::int64_t end) { return good || end < count; },
                [&](std::int64_t begin, std::int64_t end) { visits.add(begin, end); }),
            good);
        visits.expect(good ? 1 : 0);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace gpukern_test

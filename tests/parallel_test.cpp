// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Host arrays large enough for several threads, from several callers at once.

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
  ASSERT_EQ(gpukern_gather(&xs, &at, 0, GPUKERN_RAISE, nullptr, &to, nullptr), GPUKERN_SUCCESS);
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

}  // namespace
}  // namespace gpukern_test

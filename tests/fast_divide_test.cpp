// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/fast_divide.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace gpukern_test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// 1, powers of two and their neighbours, the largest number, and random numbers of every size.
std::vector<std::int64_t> divisors() {
  std::vector<std::int64_t> numbers{1, kMost};
  std::mt19937_64 random(1);
  for (int bits = 1; bits < 63; ++bits) {
    const std::int64_t power = std::int64_t{1} << bits;
    for (const std::int64_t number : {power - 1, power, power + 1}) numbers.push_back(number);
    for (int k = 0; k < 30; ++k)
      numbers.push_back(1 + static_cast<std::int64_t>(random() >> (63 - bits)));
  }
  return numbers;
}

TEST(FastDivideTest, DividesEveryNumber) {
  std::mt19937_64 random(2);
  for (const std::int64_t divisor : divisors()) {
    const gpukern::cpu::FastDivide fast(divisor);
    const std::int64_t largest = kMost - kMost % divisor;
    std::vector<std::int64_t> numbers{0, divisor - 1, divisor, largest - 1, largest, kMost};
    for (int k = 0; k < 200; ++k)
      numbers.push_back(static_cast<std::int64_t>(random() >> (1 + k % 63)));
    for (int k = 0; k < 50; ++k) {  // multiples and the numbers before them
      const std::int64_t multiple =
          numbers[std::size_t{6} + static_cast<std::size_t>(k)] / divisor * divisor;
      numbers.push_back(multiple);
      if (multiple > 0) numbers.push_back(multiple - 1);
    }
    for (const std::int64_t number : numbers)
      ASSERT_EQ(fast.quotient(number), number / divisor) << number << " / " << divisor;
  }
}

}  // namespace
}  // namespace gpukern_test

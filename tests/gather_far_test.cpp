// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Items on the host, from a source that exceeds every core's cache, by indices that are far apart,
// close together, or alternate between the two.

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kSourceBytes = std::int64_t{20} << 20;

class GatherFarTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    table.resize(kSourceBytes);
    Random random(1);
    for (std::int64_t i = 0; i < kSourceBytes; i += 8) {
      const std::uint64_t value = random();
      std::memcpy(&table[static_cast<std::size_t>(i)], &value, sizeof value);
    }
  }
  static void TearDownTestSuite() { table = {}; }

  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }

  /// An index that is not a position: a negative one or, if the mode accepts it, one out of bounds.
  template <class T>
  T odd(std::int64_t n, gpukern_index_mode mode) {
    if (mode == GPUKERN_INDEX_RAISE) return static_cast<T>(-1 - below(n));
    switch (below(4)) {
      case 0:
        return std::numeric_limits<T>::min();
      case 1:
        return std::numeric_limits<T>::max();
      case 2:
        return static_cast<T>(random_());
      default:
        return static_cast<T>(below(4 * n) - 2 * n);
    }
  }

  /// Stretches of different kinds: random positions, or steps from a position; some contain a small
  /// or large number of indices that are not positions.
  template <class T>
  std::vector<T> indices(std::int64_t count, std::int64_t n, gpukern_index_mode mode) {
    constexpr std::int64_t kSteps[] = {0, 1, 2, 7, 100, 100000};
    std::vector<T> made;
    while (static_cast<std::int64_t>(made.size()) < count) {
      const std::int64_t step = kSteps[below(std::size(kSteps))];
      const bool anywhere = below(3) == 0;
      const std::int64_t odd_ones = below(3) == 0 ? 2 + below(20) : 0;
      const std::int64_t first = below(n);
      const std::int64_t length = 1 + below(below(2) == 0 ? 40 : 600);
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t position = anywhere ? below(n) : (first + i * step) % n;
        const bool is_odd = odd_ones > 0 && below(odd_ones) == 0;
        made.push_back(is_odd ? odd<T>(n, mode) : static_cast<T>(position));
      }
    }
    made.resize(static_cast<std::size_t>(count));
    return made;
  }

  template <class T>
  void check(int item, gpukern_index_mode mode, std::int64_t count) {
    std::int64_t n = kSourceBytes / item - below(100);
    const std::vector<T> index = indices<T>(count, n, mode);
    std::vector<std::byte> out(static_cast<std::size_t>(count * item), std::byte{0xaa});
    const bool backwards = below(4) == 0;
    const auto item_at = [&](std::int64_t position) {
      return &table[static_cast<std::size_t>((backwards ? n - 1 - position : position) * item)];
    };
    std::int64_t step = backwards ? -1 : 1;
    const gpukern_tensor from{item_at(0), kCpu, 1, bytes_dtype(item), &n, &step, 0};
    const gpukern_dtype type{GPUKERN_INT, 8 * sizeof(T), 1};
    const gpukern_tensor at{const_cast<T*>(index.data()), kCpu, 1, type, &count, nullptr, 0};
    const gpukern_tensor to{out.data(), kCpu, 1, bytes_dtype(item), &count, nullptr, 0};
    ASSERT_EQ(call_gather(&from, &at, 0, &to, gather_options(mode), nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
    const std::vector<std::byte> zeros(static_cast<std::size_t>(item));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto position = resolve(index[static_cast<std::size_t>(i)], n, mode);
      const std::byte* expected = position ? item_at(*position) : zeros.data();
      ASSERT_EQ(std::memcmp(&out[static_cast<std::size_t>(i * item)], expected, zeros.size()), 0)
          << i << " of " << count << " items of " << item << " bytes, mode " << mode;
    }
  }

  static inline std::vector<std::byte> table;
  Random random_{std::random_device{}()};
};

TEST_F(GatherFarTest, EveryWidthAndModeByIndicesOfAllKinds) {
  for (int round = 0; round < 20; ++round) {
    for (const int item : {1, 2, 4, 8, 16, 24, 100, 1000}) {
      for (const gpukern_index_mode mode : kModes) {
        check<std::int32_t>(item, mode, 65 + below(4000));
        check<std::int64_t>(item, mode, 65 + below(4000));
      }
    }
  }
}

TEST_F(GatherFarTest, ABadIndexIsFoundAtAnyPosition) {
  std::int64_t n = kSourceBytes / 4;
  for (std::int64_t count : {400, 5000}) {  // for one thread and for several
    std::vector<std::int64_t> index = indices<std::int64_t>(count, n, GPUKERN_INDEX_RAISE);
    std::vector<float> out(index.size());
    for (const std::size_t bad : {0, 63, 64, 255, 256, 319, 320, 399, 4999}) {
      if (bad >= index.size()) continue;
      const std::int64_t before = std::exchange(index[bad], n);
      for (const std::int32_t may_change : {0, 1}) {
        gpukern_gather_options options = gather_options(GPUKERN_INDEX_RAISE);
        options.out_may_change = may_change;
        const gpukern_tensor from{table.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &n, nullptr, 0};
        const gpukern_tensor at{index.data(), kCpu, 1, {GPUKERN_INT, 64, 1}, &count, nullptr, 0};
        const gpukern_tensor to{out.data(), kCpu, 1, {GPUKERN_FLOAT, 32, 1}, &count, nullptr, 0};
        expect_error(gpukern_gather(&from, &at, 0, &to, &options, nullptr), GPUKERN_INDEX_ERROR,
                     "index " + std::to_string(n) + " is out of bounds");
        if (may_change == 0) {
          EXPECT_TRUE(std::ranges::all_of(out, [](float x) { return x == 0; }));
        }
      }
      index[bad] = before;
      std::ranges::fill(out, 0.F);
    }
  }
}

TEST_F(GatherFarTest, TheExtremesOfAnIndexType) {
  std::int64_t n = kSourceBytes;
  std::int64_t count = 1000;
  std::vector<std::int64_t> index(1000, std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = 0; i < index.size(); i += 2)
    index[i] = std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(i % 4);
  std::vector<std::byte> out(index.size());
  const gpukern_tensor from{table.data(), kCpu, 1, bytes_dtype(1), &n, nullptr, 0};
  const gpukern_tensor at{index.data(), kCpu, 1, {GPUKERN_INT, 64, 1}, &count, nullptr, 0};
  const gpukern_tensor to{out.data(), kCpu, 1, bytes_dtype(1), &count, nullptr, 0};
  ASSERT_EQ(call_gather(&from, &at, 0, &to, gather_options(GPUKERN_INDEX_CLIP), nullptr),
            GPUKERN_SUCCESS);
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], i % 2 == 0 ? table.front() : table.back()) << i;
}

}  // namespace
}  // namespace gpukern_test

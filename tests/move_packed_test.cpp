// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The inner loop of gather on the host, both with and without a check of each block of indices
// before their items are prefetched: a processor uses only one of the two.

#include <algorithm>
#include <random>
#include <vector>

#include "gather_oracle.hpp"
#include "src/cpu/gather_items.hpp"

namespace gpukern_test {
namespace {

using gpukern::cpu::Resolve;

class MovePackedTest : public testing::TestWithParam<bool> {
 protected:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }

  template <class T, gpukern_index_mode mode, std::size_t width>
  void check() {
    const std::int64_t n = 1 + below(100000);
    const std::int64_t count = below(2) == 0 ? below(300) : below(3000);
    const std::int64_t odd_ones = below(2) == 0 ? 2 + below(2000) : 0;
    std::vector<T> index;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool odd = odd_ones > 0 && below(odd_ones) == 0;
      index.push_back(static_cast<T>(odd ? below(3 * n) - n : below(n)));
    }
    std::vector<std::byte> source(static_cast<std::size_t>(n) * width);
    for (std::byte& each : source) each = static_cast<std::byte>(1 + below(255));
    std::vector<std::byte> out(index.size() * width, std::byte{0});
    const auto step = static_cast<std::int64_t>(width);
    const gpukern::cpu::ItemRun run{
        source.data(), step,       reinterpret_cast<std::byte*>(index.data()),
        sizeof(T),     out.data(), step,
        count,         n};
    std::int64_t filled = 0;
    const bool good = gpukern::cpu::move_packed<Resolve<T, mode>, true>(
        run, std::integral_constant<std::size_t, width>{}, [&](std::byte*) { ++filled; },
        GetParam());
    std::int64_t missing = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const auto position = resolve(index[i], n, mode);
      if (!position) {
        ++missing;
        continue;
      }
      const std::byte* expected = &source[static_cast<std::size_t>(*position) * width];
      ASSERT_EQ(std::memcmp(&out[i * width], expected, width), 0)
          << i << " of " << count << ", n " << n << ", width " << width << ", mode " << mode;
    }
    EXPECT_EQ(good, mode != GPUKERN_INDEX_RAISE || missing == 0);
    EXPECT_EQ(filled, mode == GPUKERN_INDEX_FILL ? missing : 0);
  }

  template <class T, gpukern_index_mode mode>
  void check_widths() {
    check<T, mode, 1>();
    check<T, mode, 4>();
    check<T, mode, 16>();
  }

  template <class T>
  void check_modes() {
    check_widths<T, GPUKERN_INDEX_RAISE>();
    check_widths<T, GPUKERN_INDEX_WRAP>();
    check_widths<T, GPUKERN_INDEX_CLIP>();
    check_widths<T, GPUKERN_INDEX_FILL>();
  }

  Random random_{std::random_device{}()};
};

TEST_P(MovePackedTest, EveryModeByIndicesOfAllKinds) {
  for (int round = 0; round < 12; ++round) {
    check_modes<std::int32_t>();
    check_modes<std::int64_t>();
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, MovePackedTest, testing::Bool(), [](const auto& instance) {
  return instance.param ? "checked" : "unchecked";
});

}  // namespace
}  // namespace gpukern_test

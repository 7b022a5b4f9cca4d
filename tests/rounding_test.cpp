// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The floating-point mode of the calling thread: it does not affect results and is restored.

#include <cfenv>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "support.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = 37;
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

/// 1.5 * x + y of values whose sum is rounded, and of subnormals.
class RoundingTest : public testing::Test {
 protected:
  RoundingTest() {
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const bool tiny = i % 2 == 0;
      x_[i] = tiny ? kTiny * static_cast<float>(2 * i) : 1 + static_cast<float>(i) / 3;
      y_[i] = tiny ? kTiny * static_cast<float>(i) : -1e-6F / static_cast<float>(i + 1);
    }
    compute(expected_);
  }

  /// Runs in the mode under test, so only the call may round here.
  void compute(std::vector<float>& out) {
    std::int64_t count = kCount;
    const gpukern_dtype dtype{GPUKERN_FLOAT, 32, 1};
    const gpukern_tensor x{x_.data(), kCpu, 1, dtype, &count, nullptr, 0};
    const gpukern_tensor y{y_.data(), kCpu, 1, dtype, &count, nullptr, 0};
    const gpukern_tensor to{out.data(), kCpu, 1, dtype, &count, nullptr, 0};
    const float a = 1.5F;
    EXPECT_EQ(gpukern_saxpy(&a, &x, &y, &to, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }

  std::vector<float> expected_ = std::vector<float>(kCount);
  std::vector<float> out_ = std::vector<float>(kCount);

 private:
  std::vector<float> x_ = std::vector<float>(kCount);
  std::vector<float> y_ = std::vector<float>(kCount);
};

TEST_F(RoundingTest, DoesNotDependOnTheCallersMode) {
  EXPECT_EQ(expected_[2], kTiny * 8);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    compute(out_);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after, mode);
    EXPECT_EQ(out_, expected_);
  }
}

TEST_F(RoundingTest, ExceptionFlagsAreUnchanged) {
  std::feclearexcept(FE_ALL_EXCEPT);
  compute(out_);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::feraiseexcept(FE_DIVBYZERO);
  compute(out_);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
  std::feclearexcept(FE_ALL_EXCEPT);
}

#if defined(__x86_64__)
TEST_F(RoundingTest, SubnormalsArePreservedIfTheCallerFlushesThem) {
  const unsigned before = _mm_getcsr();
  constexpr unsigned kFlushBoth = 0x8040;
  _mm_setcsr(before | kFlushBoth);
  compute(out_);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & kFlushBoth, kFlushBoth);
  EXPECT_EQ(out_, expected_);
}
#endif

/// Sums of subnormals, by one or several threads, to few elements and to many.
TEST(ScatterRoundingTest, DoesNotDependOnTheCallersMode) {
  constexpr std::int64_t kUpdates = 140000;
  std::vector<std::int64_t> index(kUpdates);
  std::vector<float> values(kUpdates);
  const auto scattered = [&](std::int64_t count) {
    std::vector<float> target(static_cast<std::size_t>(count), kTiny);
    std::int64_t updates = kUpdates;
    const gpukern_dtype f32{GPUKERN_FLOAT, 32, 1};
    const gpukern_tensor to{target.data(), kCpu, 1, f32, &count, nullptr, 0};
    const gpukern_tensor at{index.data(), kCpu, 1, {GPUKERN_INT, 64, 1}, &updates, nullptr, 0};
    const gpukern_tensor from{values.data(), kCpu, 1, f32, &updates, nullptr, 0};
    gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
    options.reduce = GPUKERN_REDUCE_ADD;
    EXPECT_EQ(gpukern_scatter(&to, &at, &from, 0, nullptr, &options, nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
    return target;
  };
  for (const std::int64_t count : {13, 100000, 3000000})
    for (const std::int32_t threads : {1, 4}) {
      for (std::size_t u = 0; u < index.size(); ++u) {
        index[u] = static_cast<std::int64_t>(u * 7919) % count;
        values[u] = u % 2 == 0 ? kTiny : 1 / (1.0F + static_cast<float>(u));
      }
      ASSERT_EQ(gpukern_set_num_threads(threads), GPUKERN_SUCCESS);
      const std::vector<float> expected = scattered(count);
      ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
#if defined(__x86_64__)
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | 0x8040);
#endif
      const std::vector<float> found = scattered(count);
#if defined(__x86_64__)
      _mm_setcsr(before);
#endif
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(found, expected) << count << " elements, " << threads << " threads";
    }
  ASSERT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

}  // namespace
}  // namespace gpukern_test

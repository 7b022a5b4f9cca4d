// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Results of scatter by indices that repeat in different ways.

#include <tuple>

#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

/// Indices with duplicates, by the number of the index.
using Pattern = std::int64_t (*)(std::int64_t k, std::int64_t count, std::int64_t size,
                                 Random& random);
constexpr std::pair<const char*, Pattern> kPatterns[] = {
    {"all equal", [](auto, auto, auto size, Random&) { return size / 2; }},
    {"half equal",
     [](auto k, auto, auto size, Random& random) {
       return k % 2 == 0 ? size / 3 : between(random, 0, size - 1);
     }},
    {"sorted", [](auto k, auto count, auto size, Random&) { return k * size / count; }},
    {"reversed",
     [](auto k, auto count, auto size, Random&) { return size - 1 - k * size / count; }},
    {"alternating", [](auto k, auto, auto size, Random&) { return k % 2 * (size - 1); }},
    {"one in each block",
     [](auto k, auto, auto size, Random& random) {
       return k % 256 == 0 ? 0 : between(random, 0, size - 1);
     }},
    {"skewed",
     [](auto, auto, auto size, Random& random) {
       std::int64_t least = size - 1;
       for (int trial = 0; trial < 8; ++trial)
         least = std::min(least, between(random, 0, size - 1));
       return least;
     }},
};

class ScatterDuplicatesTest : public PlacementTest {
 protected:
  /// Rows of float numbers by indices with duplicates.
  void check_pattern(Pattern pattern, gpukern_dtype dtype, std::int64_t size, std::int64_t count,
                     std::int64_t row, gpukern_reduce reduce) {
    Array target(placement(), dtype, {size, row});
    Array index(placement(), kInt32.dtype, {count});
    Array values(placement(), dtype, {count, row});
    fill_numbers(target, random_, true);
    fill_numbers(values, random_, true);
    for (std::int64_t k = 0; k < count; ++k)
      store(index.storage.host, kGuard + 4 * k,
            static_cast<std::int32_t>(pattern(k, count, size, random_)));
    expect_scatter({false, target, index, values, 0, scatter_options(GPUKERN_INDEX_RAISE, reduce)},
                   placement());
  }

  Random random_{20260103};
};

TEST_P(ScatterDuplicatesTest, EveryReduction) {
  for (const auto& [name, pattern] : kPatterns)
    for (const gpukern_reduce reduce : kReductions) {
      SCOPED_TRACE(std::string(name) + ", reduce " + std::to_string(reduce));
      for (const std::int64_t count : {32, 33, 255, 256, 511, 512, 1024, 5000, 16384, 16385}) {
        check_pattern(pattern, kFloat32, 1, count, 1, reduce);
        check_pattern(pattern, kFloat64, 40, count, 1, reduce);
      }
      // On a GPU, the most for one kernel and for a hash table, and more, of values and of rows.
      for (const auto& [size, count, columns] : {std::tuple{40, 16384, 4},
                                                 {3000, 32767, 1},
                                                 {3000, 32768, 1},
                                                 {3000, 98303, 2},
                                                 {3000, 98304, 2},
                                                 {3, 300, 601},
                                                 {2, 1024, 100},
                                                 {9, 1024, 130},
                                                 {20, 3000, 17},
                                                 {20, 8192, 32},
                                                 {20, 8193, 32},
                                                 {20, 9000, 33},
                                                 {20, 1100, 601}})
        check_pattern(pattern, kFloat32, size, count, columns, reduce);
      check_pattern(pattern, kReducedDtypes[0], 300, 3000, 4, reduce);
    }
}

/// On a GPU, one thread block of the kernel for few updates has all of these keys.
TEST_P(ScatterDuplicatesTest, KeysOfOneThreadBlock) {
  const Pattern multiples = [](auto, auto, auto, Random& random) {
    return 1597 * between(random, 0, 15);
  };
  for (const gpukern_reduce reduce : kReductions)
    for (const std::int64_t count : {1200, 16384})
      check_pattern(multiples, kFloat32, 24000, count, 1, reduce);
}

/// On the CPU, a hash table has the sums of keys with several blocks of values.
TEST_P(ScatterDuplicatesTest, FewUpdatesOfALargeTarget) {
  for (const auto& [name, pattern] : kPatterns)
    for (const gpukern_reduce reduce : kReductions) {
      SCOPED_TRACE(std::string(name) + ", reduce " + std::to_string(reduce));
      check_pattern(pattern, kFloat32, 40000, 1000, 1, reduce);
      check_pattern(pattern, kFloat32, 300000, 5000, 1, reduce);
      check_pattern(pattern, kReducedDtypes[0], 50000, 5000, 3, reduce);
    }
}

/// On a GPU, a table has the last update of each key.
TEST_P(ScatterDuplicatesTest, PutsOfManyUpdates) {
  for (const auto& [name, pattern] : kPatterns) {
    SCOPED_TRACE(name);
    check_pattern(pattern, kFloat32, 3000, 70001, 1, GPUKERN_REDUCE_NONE);
    check_pattern(pattern, kReducedDtypes[0], 90000, 150001, 1, GPUKERN_REDUCE_NONE);
  }
}

/// On a GPU, each key of that table writes its value; of long rows, only if keys are not more than
/// updates.
TEST_P(ScatterDuplicatesTest, PutsOfAnyLayout) {
  constexpr std::int64_t kUpdates = 30000;
  const auto check = [&](gpukern_dtype dtype, Layout layout, std::int64_t size,
                         std::int64_t columns) {
    SCOPED_TRACE(std::to_string(size) + " rows of " + std::to_string(columns));
    Array target(placement(), dtype, {size, columns}, layout);
    Array index(placement(), kInt64.dtype, {kUpdates});
    Array values(placement(), dtype, {kUpdates, columns}, layout);
    fill_numbers(target, random_, true);
    fill_numbers(values, random_, true);
    fill_indices(index, random_, size, size / 2);
    expect_scatter({false, target, index, values, 0, scatter_options(GPUKERN_INDEX_FILL)},
                   placement());
  };
  for (const gpukern_dtype dtype :
       {gpukern_dtype{GPUKERN_UINT, 8, 1}, kFloat32, gpukern_dtype{GPUKERN_COMPLEX, 128, 1}})
    for (const Layout layout : {Layout::Contiguous, Layout::Strided, Layout::Unaligned})
      for (const std::int64_t size : {std::int64_t{7001}, 2 * kUpdates, 14 * kUpdates})
        check(dtype, layout, size, 1);
  for (const std::int64_t columns : {2, 3, 20})
    for (const std::int64_t size : {std::int64_t{7001}, kUpdates, 3 * kUpdates})
      check(kFloat32, Layout::Strided, size, columns);
}

/// GPUs combine them by atomic operations: to few elements in shared memory first.
TEST_P(ScatterDuplicatesTest, IntegersOfManyUpdates) {
  constexpr gpukern_dtype kInt32Values{GPUKERN_INT, 32, 1};
  constexpr gpukern_dtype kUint64Values{GPUKERN_UINT, 64, 1};
  for (const auto& [name, pattern] : kPatterns) {
    SCOPED_TRACE(name);
    check_pattern(pattern, kInt32Values, 1000, 70000, 1, GPUKERN_REDUCE_ADD);
    check_pattern(pattern, kUint64Values, 300, 70000, 1, GPUKERN_REDUCE_ADD);
    check_pattern(pattern, kUint64Values, 20000, 70000, 1, GPUKERN_REDUCE_ADD);
    check_pattern(pattern, kInt32Values, 20000, 70000, 1, GPUKERN_REDUCE_MIN);
    for (const gpukern_dtype narrow :
         {gpukern_dtype{GPUKERN_INT, 8, 1}, gpukern_dtype{GPUKERN_INT, 16, 1},
          gpukern_dtype{GPUKERN_UINT, 8, 1}, gpukern_dtype{GPUKERN_UINT, 16, 1}})
      for (const gpukern_reduce reduce :
           {GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MIN, GPUKERN_REDUCE_MAX}) {
        check_pattern(pattern, narrow, 1000, 70000, 1, reduce);
        check_pattern(pattern, narrow, 20001, 70000, 1, reduce);
      }
  }
}

/// GPUs combine them beside an aligned target, and sort the updates of others and of long ones.
TEST_P(ScatterDuplicatesTest, NarrowIntegersOfAnyLayout) {
  constexpr std::int64_t kUpdates = 30000;
  for (const gpukern_dtype dtype :
       {gpukern_dtype{GPUKERN_INT, 16, 1}, gpukern_dtype{GPUKERN_UINT, 8, 1}})
    for (const Layout layout : {Layout::Strided, Layout::Reversed, Layout::Unaligned})
      for (const std::int64_t size : {std::int64_t{7001}, 200 * kUpdates}) {
        Array target(placement(), dtype, {size}, layout);
        Array index(placement(), kInt64.dtype, {kUpdates});
        Array values(placement(), dtype, {kUpdates}, layout);
        fill_numbers(target, random_, true);
        fill_numbers(values, random_, true);
        fill_indices(index, random_, size);
        for (const gpukern_reduce reduce : {GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MIN})
          expect_scatter(
              {false, target, index, values, 0, scatter_options(GPUKERN_INDEX_WRAP, reduce)},
              placement());
      }
}

/// For a target that no L2 cache holds.
TEST_P(ScatterDuplicatesTest, IntegersOfALargeTarget) {
  if (placement() == Placement::CudaHost) GTEST_SKIP() << "the kernel is that of device arrays";
  constexpr gpukern_dtype kInt64Values{GPUKERN_INT, 64, 1};
  for (const auto& [name, pattern] : kPatterns) {
    SCOPED_TRACE(name);
    check_pattern(pattern, kInt64Values, 9 << 20, 3 << 19, 1, GPUKERN_REDUCE_ADD);
  }
}

// With several threads, each has a range of the keys.
TEST_P(ScatterDuplicatesTest, SeveralThreads) {
  if (placement() != Placement::Cpu) GTEST_SKIP() << "threads of the CPU";
  constexpr std::int64_t kCount = 140001;
  for (const int threads : {2, 20}) {
    EXPECT_EQ(gpukern_set_num_threads(threads), GPUKERN_SUCCESS);
    for (const auto& [name, pattern] : kPatterns) {
      SCOPED_TRACE(std::to_string(threads) + " threads, " + name);
      check_pattern(pattern, kFloat32, 50001, kCount, 1, GPUKERN_REDUCE_ADD);
      check_pattern(pattern, kReducedDtypes[0], 50001, kCount, 1, GPUKERN_REDUCE_MEAN);
      check_pattern(pattern, kFloat32, 1, kCount, 1, GPUKERN_REDUCE_ADD);
    }
  }
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

GPUKERN_INSTANTIATE_PLACEMENTS(ScatterDuplicatesTest);

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A GPU sorts more than 2 Mi updates of single values by slice of the target, if they are at least
// half as many as its elements, and those of slices with many updates, or many of one element, by
// element.

#include <algorithm>
#include <cmath>

#include "device_memory.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = (1 << 21) + 77;
using Indices = std::vector<std::int32_t>;
using Pattern = void (*)(Indices& indices, std::int64_t size, Random& random);

void fill_uniform(Indices& indices, std::int64_t size, Random& random) {
  for (auto& at : indices) at = static_cast<std::int32_t>(between(random, 0, size - 1));
}

constexpr std::pair<const char*, Pattern> kPatterns[] = {
    {"uniform", fill_uniform},
    {"sorted",
     [](Indices& indices, std::int64_t size, Random& random) {
       fill_uniform(indices, size, random);
       std::ranges::sort(indices);
     }},
    {"skewed",
     [](Indices& indices, std::int64_t size, Random& random) {
       for (auto& at : indices) {
         const double u = static_cast<double>(between(random, 0, (1 << 30) - 1)) / (1 << 30);
         at = static_cast<std::int32_t>(std::pow(u, 8) * static_cast<double>(size));
       }
     }},
    {"half to one",
     [](Indices& indices, std::int64_t size, Random& random) {
       fill_uniform(indices, size, random);
       for (auto& at : indices)
         if (random() % 2 == 0) at = static_cast<std::int32_t>(size / 3);
     }},
    {"all to one",
     [](Indices& indices, std::int64_t size, Random&) {
       std::ranges::fill(indices, static_cast<std::int32_t>(size - 1));
     }},
    // About as many values for an element as fit in a block, in slices of any length.
    {"a block each",
     [](Indices& indices, std::int64_t size, Random& random) {
       std::int32_t at = 0;
       std::int64_t left = 0;
       for (auto& index : indices) {
         if (left-- == 0) {
           at = static_cast<std::int32_t>(between(random, 0, size - 1));
           left = between(random, 253, 258);
         }
         index = at;
       }
       std::ranges::shuffle(indices, random);
     }},
    {"one slice",
     [](Indices& indices, std::int64_t size, Random& random) {
       for (auto& at : indices) at = static_cast<std::int32_t>(size - 1 - between(random, 0, 40));
     }},
    // Out of bounds, but where the mode is raise.
    {"mostly outside",
     [](Indices& indices, std::int64_t size, Random& random) {
       for (auto& at : indices)
         at = static_cast<std::int32_t>(between(random, -9 * size, 9 * size));
     }},
};

class ScatterSlicesTest : public GpuTest {
 protected:
  void check(Pattern pattern, std::int64_t size, gpukern_dtype dtype, gpukern_reduce reduce,
             gpukern_index_mode mode, Layout layout, std::int64_t count = kCount) {
    Array target(Placement::Cuda, dtype, {size}, layout);
    Array index(Placement::Cuda, kInt32.dtype, {count});
    Array values(Placement::Cuda, dtype, {count}, layout);
    fill_numbers(target, random_, true);
    fill_numbers(values, random_, true);
    Indices indices(count);
    pattern(indices, size, random_);
    for (std::int64_t k = 0; k < count; ++k)
      store(index.storage.host, kGuard + 4 * k, indices[static_cast<std::size_t>(k)]);
    expect_scatter({false, target, index, values, 0, scatter_options(mode, reduce)},
                   Placement::Cuda);
  }

  void check_all(std::int64_t size, gpukern_dtype dtype, gpukern_reduce reduce,
                 gpukern_index_mode mode, Layout layout) {
    SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
                 " bits, reduce " + std::to_string(reduce) + ", mode " + std::to_string(mode));
    for (const auto& [name, pattern] : kPatterns) {
      SCOPED_TRACE(std::string(name) + ", " + std::to_string(size) + " elements");
      check(pattern, size, dtype, reduce, mode, layout);
    }
  }

  Random random_{20261126};
};

// The larger a target, the longer its slices: 32, 512 or 1024 elements. A table of each element's
// last update of the largest does not stay in the L2 cache.
constexpr std::int64_t kSmall = 70'001;
constexpr std::int64_t kMedium = (1 << 20) + 3;
constexpr std::int64_t kLarge = 8'000'003;
constexpr std::int64_t kLargeCount = 2 * kCount;

TEST_F(ScatterSlicesTest, Sums) {
  check_all(kSmall, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_WRAP, Layout::Contiguous);
  check_all(kMedium, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_CLIP, Layout::Unaligned);
  check_all(kMedium, kFloat64, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Reversed);
}

TEST_F(ScatterSlicesTest, OtherReductions) {
  check_all(kMedium, kReducedDtypes[0], GPUKERN_REDUCE_MEAN, GPUKERN_INDEX_CLIP,
            Layout::Contiguous);
  check_all(kMedium, kFloat32, GPUKERN_REDUCE_MAX, GPUKERN_INDEX_FILL, Layout::Contiguous);
  check_all(kSmall, kFloat32, GPUKERN_REDUCE_MULTIPLY, GPUKERN_INDEX_WRAP, Layout::Contiguous);
}

TEST_F(ScatterSlicesTest, LargeTarget) {
  for (const auto& [name, pattern] : {kPatterns[0], kPatterns[2], kPatterns[3]}) {
    SCOPED_TRACE(name);
    check(pattern, kLarge, kFloat32, GPUKERN_REDUCE_ADD, GPUKERN_INDEX_FILL, Layout::Contiguous,
          kLargeCount);
    for (const int width : {1, 4, 8})
      check(pattern, kLarge, bytes_dtype(width), GPUKERN_REDUCE_NONE, GPUKERN_INDEX_FILL,
            Layout::Contiguous, kLargeCount);
  }
}

// Too few updates for slices.
TEST_F(ScatterSlicesTest, SparseTarget) {
  for (const gpukern_reduce reduce : {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD})
    check(fill_uniform, (1 << 24) + 3, kFloat32, reduce, GPUKERN_INDEX_CLIP, Layout::Contiguous);
}

}  // namespace
}  // namespace gpukern_test

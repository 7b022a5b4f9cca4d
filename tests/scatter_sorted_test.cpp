// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// On a GPU, the check of mode raise finds that indices are sorted, and scatter does not sort them
// again. Here their order is broken at one place, in all that a thread of the check or an edge has.

#include <cstring>

#include "device_memory.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

/// More than the kernel for few updates takes, which does not ask for their order.
constexpr std::int64_t kCount = 17'000;
/// More than all blocks of the check read in their first round.
constexpr std::int64_t kLarge = 5'000'000;

/// Indices of one type, after `shift` others, in device memory.
template <class T>
class Indices {
 public:
  Indices(const DeviceMemory<int>& memory, std::int64_t shift, std::int64_t count)
      : memory_(memory), shift_(shift), count_(count) {}

  [[nodiscard]] gpukern_tensor tensor() const {
    gpukern_tensor at = memory_.tensor();
    at.data = static_cast<std::byte*>(at.data) + shift_ * sizeof(T);
    at.dtype = {std::is_signed_v<T> ? GPUKERN_INT : GPUKERN_UINT, 8 * sizeof(T), 1};
    at.shape = const_cast<std::int64_t*>(&count_);
    return at;
  }
  void write(const std::vector<T>& positions) const {
    std::vector<int> words(memory_.bytes() / sizeof(int));
    std::memcpy(reinterpret_cast<std::byte*>(words.data()) + shift_ * sizeof(T), positions.data(),
                positions.size() * sizeof(T));
    memory_.write(words);
  }

 private:
  const DeviceMemory<int>& memory_;
  std::int64_t shift_;
  std::int64_t count_;
};

template <class T>
class ScatterSortedTest : public GpuTest {
 protected:
  /// Adds 1 to an element of two for each index, and expects the numbers of the indices.
  void check(std::int64_t shift, const std::vector<T>& positions) {
    const auto count = std::ssize(positions);
    const DeviceMemory<int> memory(count * 2 + 8);
    const Indices<T> index(memory, shift, count);
    const DeviceMemory<float> target(2);
    const DeviceMemory<float> values(count);
    index.write(positions);
    target.write({0, 0});
    values.write(std::vector<float>(positions.size(), 1));
    std::vector<float> expected(2);
    for (const T position : positions) expected[static_cast<std::size_t>((position + 2) % 2)] += 1;
    const gpukern_tensor to = target.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor from = values.tensor();
    const gpukern_scatter_options options =
        scatter_options(GPUKERN_INDEX_RAISE, GPUKERN_REDUCE_ADD);
    const gpukern_exec exec = GPUKERN_EXEC_INIT;
    ASSERT_EQ(gpukern_scatter(&to, &at, &from, 0, nullptr, &options, &exec), GPUKERN_SUCCESS)
        << gpukern_last_error();
    ASSERT_EQ(target.read(), expected) << "shift " << shift;
  }
};

using Types = testing::Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
                             std::int32_t, std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(ScatterSortedTest, Types);

TYPED_TEST(ScatterSortedTest, OneIndexOutOfOrderAnywhere) {
  constexpr auto kInVector = static_cast<std::int64_t>(16 / sizeof(TypeParam));
  for (std::int64_t shift = 0; shift < kInVector; ++shift)
    for (std::int64_t p = 0; p < kCount; p += p < 40 || p >= kCount - 40 ? 1 : 1049) {
      std::vector<TypeParam> positions(kCount);
      positions[static_cast<std::size_t>(p)] = 1;
      ASSERT_NO_FATAL_FAILURE(this->check(shift, positions)) << "position " << p;
    }
}

/// At the edges of vectors, thread blocks and rounds of all blocks.
TYPED_TEST(ScatterSortedTest, OneOfManyOutOfOrder) {
  if constexpr (sizeof(TypeParam) == 8)
    for (const std::int64_t edge : {2048, 4096, 2048 * 2047, 2048 * 2048})
      for (const std::int64_t p : {edge - 2, edge - 1, edge, edge + 1}) {
        std::vector<TypeParam> positions(kLarge);
        positions[static_cast<std::size_t>(p)] = 1;
        ASSERT_NO_FATAL_FAILURE(this->check(0, positions)) << "position " << p;
      }
}

TYPED_TEST(ScatterSortedTest, SortedOnesAreAsRight) {
  for (const std::int64_t zeros : {0, 1, 255, 256, 1000, 16'743, 16'999, 17'000}) {
    std::vector<TypeParam> positions(kCount, 1);
    std::fill_n(positions.begin(), zeros, TypeParam{0});
    ASSERT_NO_FATAL_FAILURE(this->check(0, positions)) << zeros << " zeros";
  }
}

/// An index from the end is less than those before it, though its bits are not.
TYPED_TEST(ScatterSortedTest, IndicesFromTheEndAreOutOfOrder) {
  if constexpr (std::is_signed_v<TypeParam>)
    for (const std::int64_t negative : {1, 2, 300, 8'500, 16'999}) {
      std::vector<TypeParam> positions(kCount, 1);
      std::fill_n(positions.end() - negative, negative, TypeParam{-2});
      ASSERT_NO_FATAL_FAILURE(this->check(0, positions)) << negative << " at the end";
    }
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Rows on the host, of a source and into an output that no core's cache holds.

#include <cstdlib>
#include <cstring>
#include <memory>

#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

using Buffer = std::unique_ptr<std::byte[], decltype(&std::free)>;

Buffer buffer(std::int64_t bytes) {
  const auto whole = (static_cast<std::size_t>(bytes) + 127) / 64 * 64;
  return {static_cast<std::byte*>(std::aligned_alloc(64, whole)), &std::free};
}

/// Few threads, so that the output need not be large.
class GatherRowsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(gpukern_set_num_threads(2), GPUKERN_SUCCESS); }
  void TearDown() override { ASSERT_EQ(gpukern_set_num_threads(before_), GPUKERN_SUCCESS); }

  const int before_ = gpukern_num_threads();
};

/// Gathers `count` rows; source and output begin so many bytes behind a multiple of 64. Every byte
/// is compared, and what is before and behind the output.
void check(int width, std::int64_t source_at, std::int64_t out_at) {
  SCOPED_TRACE("rows of " + std::to_string(width) + " bytes at " + std::to_string(source_at) +
               " and " + std::to_string(out_at));
  std::int64_t table = (std::int64_t{9} << 20) / width;
  std::int64_t count = table;
  const Buffer source = buffer(table * width + source_at);
  const Buffer out = buffer(count * width + out_at + 1);
  std::vector<std::int64_t> index(static_cast<std::size_t>(count));
  Random random(std::random_device{}());
  for (std::int64_t& value : index)
    value = static_cast<std::int64_t>(random() % static_cast<std::size_t>(2 * table)) - table;
  for (std::int64_t at = source_at; at < source_at + table * width; at += 8) {
    const std::uint64_t value = random();
    std::memcpy(&source[at], &value, sizeof value);
  }
  std::memset(out.get(), 0xaa, static_cast<std::size_t>(count * width + out_at + 1));
  const gpukern_tensor from{&source[source_at], kCpu, 1, bytes_dtype(width), &table, nullptr, 0};
  const gpukern_tensor at{index.data(), kCpu, 1, {GPUKERN_INT, 64, 1}, &count, nullptr, 0};
  const gpukern_tensor to{&out[out_at], kCpu, 1, bytes_dtype(width), &count, nullptr, 0};
  ASSERT_EQ(gpukern_gather(&from, &at, 0, GPUKERN_RAISE, nullptr, &to, nullptr), GPUKERN_SUCCESS)
      << gpukern_last_error();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = index[static_cast<std::size_t>(i)];
    const std::byte* expected = &source[source_at + (row < 0 ? row + table : row) * width];
    ASSERT_EQ(std::memcmp(&out[out_at + i * width], expected, static_cast<std::size_t>(width)), 0)
        << "row " << i;
  }
  for (std::int64_t i = 0; i < out_at; ++i) ASSERT_EQ(out[i], std::byte{0xaa});
  ASSERT_EQ(out[out_at + count * width], std::byte{0xaa});
}

TEST_F(GatherRowsTest, EveryWidthAndAlignment) {
  for (const int width : {64, 72, 80, 256, 1024, 4112})
    for (const std::int64_t at : {0, 4, 16}) check(width, 16 - at, at);
}

}  // namespace
}  // namespace gpukern_test

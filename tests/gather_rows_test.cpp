// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Rows on the host, from a source and into an output that exceed every core's cache.

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

using Buffer = std::unique_ptr<std::byte[], decltype(&std::free)>;

Buffer buffer(std::int64_t bytes) {
  const auto whole = (static_cast<std::size_t>(bytes) + 127) / 64 * 64;
  return {static_cast<std::byte*>(std::aligned_alloc(64, whole)), &std::free};
}

/// Limits the threads, so that the output can be small.
class GatherRowsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(gpukern_set_num_threads(2), GPUKERN_SUCCESS); }
  void TearDown() override { ASSERT_EQ(gpukern_set_num_threads(before_), GPUKERN_SUCCESS); }

  const int before_ = gpukern_num_threads();
};

/// A table of rows and an equally large output. Both exceed the caches of two threads, including
/// third-level caches of 32 MiB on AMD processors, so that stores bypass the caches.
struct Rows {
  static constexpr std::int64_t kBytes = std::int64_t{40} << 20;

  explicit Rows(int row_width) : width(row_width) {
    for (std::int64_t at = 0; at < table * width + kMostAt; at += 8) {
      const std::uint64_t value = random();
      std::memcpy(&source[at], &value, sizeof value);
    }
  }

  /// Source and output begin this number of bytes after a multiple of 64. Compares every byte of
  /// the output and the bytes around it.
  void check(std::int64_t source_at, std::int64_t out_at, gpukern_index_mode mode) {
    SCOPED_TRACE("rows of " + std::to_string(width) + " bytes at " + std::to_string(source_at) +
                 " and " + std::to_string(out_at) + ", mode " + std::to_string(mode));
    const std::int64_t reach = mode == GPUKERN_INDEX_RAISE ? table : 3 * table;
    for (std::int64_t& value : index)
      value = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * reach)) - reach;
    std::memset(out.get(), 0xaa, static_cast<std::size_t>(table * width + kMostAt + 1));
    const gpukern_dtype bytes = bytes_dtype(width);
    const gpukern_tensor from{&source[source_at], kCpu, 1, bytes, &table, nullptr, 0};
    const gpukern_tensor at{index.data(), kCpu, 1, {GPUKERN_INT, 64, 1}, &table, nullptr, 0};
    const gpukern_tensor fill{missing.data(), kCpu, 0, bytes, nullptr, nullptr, 0};
    const gpukern_tensor to{&out[out_at], kCpu, 1, bytes, &table, nullptr, 0};
    ASSERT_EQ(
        call_gather(&from, &at, 0, &to,
                    gather_options(mode, mode == GPUKERN_INDEX_FILL ? &fill : nullptr), nullptr),
        GPUKERN_SUCCESS)
        << gpukern_last_error();
    for (std::int64_t i = 0; i < table; ++i) {
      const auto row = resolve(index[static_cast<std::size_t>(i)], table, mode);
      const std::byte* expected = row ? &source[source_at + *row * width] : missing.data();
      ASSERT_EQ(std::memcmp(&out[out_at + i * width], expected, static_cast<std::size_t>(width)), 0)
          << "row " << i;
    }
    for (std::int64_t i = 0; i < out_at; ++i) ASSERT_EQ(out[i], std::byte{0xaa});
    ASSERT_EQ(out[out_at + table * width], std::byte{0xaa});
  }

  static constexpr std::int64_t kMostAt = 64;

  Random random{std::random_device{}()};
  int width;
  std::int64_t table = kBytes / width;
  Buffer source = buffer(table * width + kMostAt);
  Buffer out = buffer(table * width + kMostAt + 1);
  std::vector<std::int64_t> index = std::vector<std::int64_t>(static_cast<std::size_t>(table));
  std::vector<std::byte> missing =
      std::vector<std::byte>(static_cast<std::size_t>(width), std::byte{0x5b});
};

/// Stores of 64, 32 and 16 bytes, and rows that support none of them.
TEST_F(GatherRowsTest, EveryWidthAndAlignment) {
  unsigned turn = 0;
  for (const int width : {64, 72, 80, 96, 256, 1024, 4112}) {
    Rows rows(width);
    for (const std::int64_t at : {0, 4, 16, 32, 64})
      rows.check(Rows::kMostAt - at, at, kModes[turn++ % std::size(kModes)]);
  }
}

}  // namespace
}  // namespace gpukern_test

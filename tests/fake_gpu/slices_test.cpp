// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The parts of a pipeline: slices, chunk sizes and how a source is read. Pure functions, no GPU.

#include "src/core/slices.hpp"

#include <cstdlib>
#include <set>

#include "src/ops/gather_offload.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "support.hpp"

namespace gpukern_test {
namespace {

using gpukern::Loop;
using gpukern::Slice;
using gpukern::Slices;
using gpukern::SourceWay;

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr std::int64_t kGi = std::int64_t{1} << 30;

/// The offsets of both operands at every position, in C order.
std::vector<std::array<std::int64_t, 2>> positions(const Loop<2>& loop,
                                                   std::array<std::int64_t, 2> base = {}) {
  std::vector<std::array<std::int64_t, 2>> all{base};
  for (int d = 0; d < loop.ndim; ++d) {
    std::vector<std::array<std::int64_t, 2>> next;
    for (const auto& at : all)
      for (std::int64_t i = 0; i < loop.extent[d]; ++i)
        next.push_back({at[0] + i * loop.stride[0][d], at[1] + i * loop.stride[1][d]});
    all = std::move(next);
  }
  return all;
}

TEST(SlicesTest, CoverEveryPositionInOrder) {
  Random random(std::random_device{}());
  for (int round = 0; round < 500; ++round) {
    Loop<2> loop;
    const auto ndim = between(random, 0, 4);
    for (int d = 0; d < ndim; ++d)
      loop.push(between(random, 1, d == 1 ? 300 : 7),
                {between(random, -50, 50), between(random, 0, 3) * 8});
    const std::int64_t most = between(random, 1, 400);
    const Slices<2> slices(loop, most);
    std::vector<std::array<std::int64_t, 2>> seen;
    for (std::int64_t k = 0; k < slices.count(); ++k) {
      const Slice<2> slice = slices[k];
      EXPECT_LE(slice.loop.count(), most);
      const auto part = positions(slice.loop, slice.offset);
      seen.insert(seen.end(), part.begin(), part.end());
    }
    EXPECT_EQ(seen, positions(loop));
  }
}

TEST(SlicesTest, OfLongRowsBeginWithCacheLines) {
  Loop<1> loop;
  loop.push(1000, {4});
  const Slices<1> slices(loop, 200);
  EXPECT_EQ(slices.count(), 6);
  for (std::int64_t k = 0; k < 6; ++k) EXPECT_EQ(slices[k].offset[0], k * 192 * 4);
}

TEST(SlicesTest, CountPositionsBeyond64Bits) {
  Loop<1> loop;
  loop.push(std::int64_t{1} << 62, {0});
  loop.push(std::int64_t{1} << 62, {0});
  EXPECT_EQ(Slices<1>(loop, std::int64_t{1} << 62).count(), std::int64_t{1} << 62);
}

TEST(ChunkTest, AllOfThemStayInsideTheLimit) {
  for (const std::int64_t limit : {std::int64_t{2048}, std::int64_t{100000}, kMi, kGi, 100 * kGi})
    for (const int operands : {1, 2})
      for (const std::int64_t total : {std::int64_t{1}, kMi, kGi, 1000 * kGi})
        for (const bool staged : {false, true}) {
          const std::int64_t bytes = gpukern::chunk_bytes(limit, operands, total, staged);
          EXPECT_GE(bytes, gpukern::kChunkAlignment);
          EXPECT_EQ(bytes % gpukern::kChunkAlignment, 0);
          EXPECT_LE(gpukern::kSlots * operands * bytes, limit);
        }
}

TEST(ChunkTest, GrowWithTheirOperands) {
  EXPECT_EQ(gpukern::chunk_bytes(kGi, 2, 1, true), gpukern::kSmallChunk);
  EXPECT_EQ(gpukern::chunk_bytes(kGi, 2, 32 * kMi, true), 4 * kMi);
  EXPECT_EQ(gpukern::chunk_bytes(kGi, 2, 100 * kGi, true), gpukern::kStagedChunk);
  EXPECT_EQ(gpukern::chunk_bytes(kGi, 2, 100 * kGi, false), gpukern::kPinnedChunk);
}

TEST(DeviceMemoryLimitTest, ComesFromTheCallTheEnvironmentOrTheDefault) {
  const EnvironmentVariable unset("GPUKERN_DEVICE_MEMORY", std::nullopt);
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  EXPECT_EQ(gpukern::device_memory_limit(nullptr), GPUKERN_DEVICE_MEMORY_LIMIT);
  for (const auto& [text, bytes] : {std::pair("1", std::int64_t{1}),
                                    {"2048K", 2 * kMi},
                                    {"3M", 3 * kMi},
                                    {"2G", 2 * kGi},
                                    {"1T", 1024 * kGi},
                                    {"", kGi}}) {
    const EnvironmentVariable variable("GPUKERN_DEVICE_MEMORY", text);
    EXPECT_EQ(gpukern::device_memory_limit(&exec), bytes) << text;
  }
  const EnvironmentVariable variable("GPUKERN_DEVICE_MEMORY", "2G");
  exec.device_memory_limit = 12345;
  EXPECT_EQ(gpukern::device_memory_limit(&exec), 12345);
}

TEST(DeviceMemoryLimitTest, RefusesInvalidValues) {
  for (const char* text : {"0", "-1", "G", "2GB", "2 G", "1.5G", "2g", "99999999999999999999",
                           "9999999999T", "much"}) {
    const EnvironmentVariable variable("GPUKERN_DEVICE_MEMORY", text);
    try {
      gpukern::device_memory_limit(nullptr);
      ADD_FAILURE() << text;
    } catch (const gpukern::Error& error) {
      EXPECT_EQ(error.status(), GPUKERN_VALUE_ERROR);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
}

SourceWay way(std::int64_t source_items, std::int64_t items, std::int64_t item, bool pinned,
              std::int64_t limit = kGi, int threads = 16) {
  return gpukern::source_way({.source_bytes = source_items * item,
                              .index_bytes = items * 4,
                              .out_bytes = items * item,
                              .items = items,
                              .pinned = pinned,
                              .limit = limit,
                              .threads = threads});
}

TEST(SourceWayTest, LittleOfASourceIsNotWorthACopy) {
  EXPECT_EQ(way(128 * kMi, kMi, 4, false), SourceWay::OnHost);
  EXPECT_EQ(way(128 * kMi, kMi, 4, true), SourceWay::OnHost);
  EXPECT_EQ(way(128 * kMi, kMi, 4, true, kGi, 2), SourceWay::InPlace);
  EXPECT_EQ(way(kMi, kMi / 8, 256, true), SourceWay::InPlace);
}

TEST(SourceWayTest, ManyReadsAre) {
  EXPECT_EQ(way(kMi, 128 * kMi, 4, false), SourceWay::Copied);
  EXPECT_EQ(way(64 * kMi, 64 * kMi, 4, false), SourceWay::Copied);
  EXPECT_EQ(way(64 * kMi, 256 * kMi, 4, true), SourceWay::Copied);
}

TEST(SourceWayTest, IsNeverACopyThatDoesNotFit) {
  EXPECT_EQ(way(kGi, 1024 * kGi, 4, false), SourceWay::OnHost);
  EXPECT_EQ(way(kGi, 1024 * kGi, 4, true, kGi, 2), SourceWay::InPlace);
  EXPECT_EQ(way(kGi, 1024 * kGi, 4, false, 8 * kGi), SourceWay::Copied);
}

}  // namespace
}  // namespace gpukern_test

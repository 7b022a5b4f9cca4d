// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Runs along a long dimension visit each position of a loop once.

#include "src/cpu/long_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace gpukern_test {
namespace {

using gpukern::Loop;
using gpukern::cpu::for_each_run;
using gpukern::cpu::has_long_runs;
using gpukern::cpu::LongRuns;
using gpukern::cpu::run_stride;
using Position = std::array<std::int64_t, 2>;  // the offsets of two operands

/// The first operand is in C order, and so has a different offset for each position; the second one
/// is transposed, and repeats dimension `repeated`.
Loop<2> loop_of(const std::vector<std::int64_t>& extents, int repeated) {
  Loop<2> loop;
  std::vector<std::int64_t> step(extents.size(), 4);
  for (std::size_t d = extents.size() - 1; d > 0; --d) step[d - 1] = step[d] * extents[d];
  std::int64_t transposed = 4;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    loop.push(extents[d], {step[d], static_cast<int>(d) == repeated ? 0 : -transposed});
    transposed *= extents[d];
  }
  return loop;
}

template <class EachRun>
std::vector<Position> positions_of(const Loop<2>& loop, const EachRun& each_run) {
  std::vector<Position> found;
  each_run([&](const auto& offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i)
      found.push_back({offset[0] + i * run_stride(loop, 0), offset[1] + i * run_stride(loop, 1)});
  });
  std::ranges::sort(found);
  return found;
}

std::vector<Position> all_positions(const Loop<2>& loop) {
  return positions_of(loop, [&](const auto& body) { for_each_run(loop, 0, loop.count(), body); });
}

TEST(LongRunsTest, VisitEachPositionOnce) {
  const std::vector<std::vector<std::int64_t>> shapes{
      {32, 1},     {255, 3},    {256, 2},       {257, 15},      {1000, 3},       {3, 600, 4},
      {600, 3, 4}, {70, 40, 5}, {2, 3, 513, 2}, {300, 2, 3, 2}, {33, 34, 35, 3},
  };
  for (const auto& shape : shapes) {
    for (int repeated = -1; repeated < static_cast<int>(shape.size()); ++repeated) {
      const Loop<2> loop = loop_of(shape, repeated);
      ASSERT_TRUE(has_long_runs(loop));
      Loop<2> ordered = loop;
      const LongRuns runs(ordered);
      EXPECT_GE(ordered.extent[ordered.ndim - 1], 32);
      EXPECT_FALSE(has_long_runs(ordered));
      const std::vector<Position> expected = all_positions(loop);
      for (const std::int64_t parts : {1, 2, 7}) {
        EXPECT_EQ(expected, positions_of(ordered, [&](const auto& body) {
                    for (std::int64_t part = 0; part < parts; ++part)
                      runs.for_each(runs.count() * part / parts, runs.count() * (part + 1) / parts,
                                    body);
                  }));
      }
    }
  }
}

TEST(LongRunsTest, HaveBlocksForAllThreadsBehindALongDimension) {
  Loop<2> loop;  // the first dimension has the shortest steps
  loop.push(256, {4, 4});
  loop.push(5000, {1024, 1024});
  loop.push(3, {5120000, 5120000});
  const std::vector<Position> expected = all_positions(loop);
  const LongRuns runs(loop);
  EXPECT_GE(runs.count(), 5000);
  EXPECT_EQ(expected,
            positions_of(loop, [&](const auto& body) { runs.for_each(0, runs.count(), body); }));
}

TEST(LongRunsTest, AreNotInLoopsWithoutALongDimension) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{1000}, {31, 15}, {1000, 16}})
    EXPECT_FALSE(has_long_runs(loop_of(shape, -1)));
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather_reduce and segment_reduce captured into CUDA graphs, with bags that need scratch memory.

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kItems = 20000;
constexpr std::int64_t kRows = 100;
constexpr std::int64_t kBags = 50;
constexpr std::int64_t kManyBags = 5000;  // that are not reduced in one launch

class GatherReduceGraphTest : public GpuTest {};

gpukern_status reduce(const DeviceMemory<int>& source, const DeviceMemory<int>* index,
                      const DeviceMemory<int>& offsets, const DeviceMemory<int>& out,
                      gpukern_index_mode mode, void* stream) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.stream = stream;
  gpukern_gather_reduce_options options = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  options.mode = mode;
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor bags = offsets.tensor();
  const gpukern_tensor to = out.tensor();
  if (index == nullptr) return gpukern_segment_reduce(&from, &bags, 0, &to, &options, &exec);
  const gpukern_tensor at = index->tensor();
  return gpukern_gather_reduce(&from, &at, &bags, nullptr, 0, &to, &options, &exec);
}

/// Offsets of short bags and a long one, which is elsewhere in each round.
std::vector<int> offsets_of(int round) {
  std::vector<int> offsets{0};
  for (int b = 0; b < kBags; ++b) offsets.push_back(offsets.back() + (b == 7 * round ? 15000 : 40));
  return offsets;
}

TEST_F(GatherReduceGraphTest, ReductionsRunAgainOnNewData) {
  for (const gpukern_index_mode mode :
       {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL}) {
    const StreamHandle stream;
    const DeviceMemory<int> source(kRows);
    const DeviceMemory<int> index(kItems);
    const DeviceMemory<int> offsets(kBags + 1);
    const DeviceMemory<int> sums(kBags);
    const DeviceMemory<int> more_offsets(kManyBags + 1);
    const DeviceMemory<int> segments(kBags);
    const DeviceMemory<int> more_segments(kManyBags);
    stream.begin_capture();
    ASSERT_EQ(reduce(source, &index, offsets, sums, mode, stream), GPUKERN_SUCCESS)
        << gpukern_last_error();
    ASSERT_EQ(reduce(index, nullptr, offsets, segments, GPUKERN_INDEX_CLIP, stream),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    ASSERT_EQ(reduce(index, nullptr, more_offsets, more_segments, GPUKERN_INDEX_CLIP, stream),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    const Graph graph(stream);
    for (int round = 0; round < 4; ++round) {
      std::vector<int> values(kRows);
      std::iota(values.begin(), values.end(), 1000 * round);
      std::vector<int> positions(kItems);
      for (int i = 0; i < kItems; ++i)
        positions[static_cast<std::size_t>(i)] = static_cast<int>((i * 7 + round) % kRows);
      const std::vector<int> bags = offsets_of(round);
      std::vector<int> more = bags;
      more.resize(kManyBags + 1, bags.back());
      source.write(values);
      index.write(positions);
      offsets.write(bags);
      more_offsets.write(more);
      cuda("cuCtxSynchronize");
      graph.launch(stream);
      stream.synchronize();
      const auto found = sums.read();
      const auto found_segments = segments.read();
      const auto more_found = more_segments.read();
      for (std::size_t b = 0; b < kBags; ++b) {
        int sum = 0;
        int segment = 0;
        for (auto i = static_cast<std::size_t>(bags[b]); i < static_cast<std::size_t>(bags[b + 1]);
             ++i) {
          sum += values[static_cast<std::size_t>(positions[i])];
          segment += positions[i];
        }
        ASSERT_EQ(found[b], sum) << "bag " << b << ", round " << round;
        ASSERT_EQ(found_segments[b], segment) << "segment " << b << ", round " << round;
        ASSERT_EQ(more_found[b], segment) << "segment " << b << ", round " << round;
      }
      EXPECT_TRUE(std::all_of(more_found.begin() + kBags, more_found.end(),
                              [](int empty) { return empty == 0; }));
    }
  }
}

TEST_F(GatherReduceGraphTest, RaiseIsRefused) {
  const StreamHandle stream;
  const DeviceMemory<int> source(kRows);
  const DeviceMemory<int> index(kItems);
  const DeviceMemory<int> offsets(kBags + 1);
  const DeviceMemory<int> out(kBags);
  stream.begin_capture();
  expect_error(reduce(source, &index, offsets, out, GPUKERN_INDEX_RAISE, stream),
               GPUKERN_VALUE_ERROR, "mode must not be raise while a CUDA graph is captured");
  const Graph graph(stream);
}

/// Falling offsets make bags overlap, so that the blocks of many do not fit the scratch memory.
TEST_F(GatherReduceGraphTest, BagsThatOverlap) {
  for (const std::int64_t segments : {std::int64_t{100}, kManyBags}) {
    const StreamHandle stream;
    const DeviceMemory<int> source(kItems);
    const DeviceMemory<int> offsets(segments + 1);
    const DeviceMemory<int> out(segments);
    source.write(std::vector<int>(kItems, 1));
    std::vector<int> bags(static_cast<std::size_t>(segments) + 1);
    for (std::size_t b = 0; b < bags.size(); ++b) bags[b] = b % 2 == 0 ? 3 : kItems;
    offsets.write(bags);
    cuda("cuCtxSynchronize");
    EXPECT_EQ(reduce(source, nullptr, offsets, out, GPUKERN_INDEX_CLIP, stream), GPUKERN_SUCCESS);
    stream.synchronize();
    const auto found = out.read();
    for (std::size_t b = 0; b < found.size(); ++b)
      ASSERT_EQ(found[b], b % 2 == 0 ? kItems - 3 : 0) << b;
  }
}

}  // namespace
}  // namespace gpukern_test

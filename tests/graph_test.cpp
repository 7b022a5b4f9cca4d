// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Operations captured into CUDA graphs, and their effect on memory and on other captures.

#include <optional>
#include <thread>

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = 1000;

std::vector<int> counting(int first) {
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class GraphTest : public GpuTest {};

class GraphModeTest : public GraphTest, public testing::WithParamInterface<CaptureMode> {};

TEST_P(GraphModeTest, OperationsRunAgainOnNewData) {
  for (const gpukern_index_mode mode :
       {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL}) {
    const StreamHandle stream;
    const DeviceMemory<float> source(kCount);
    const DeviceMemory<int> index(kCount);
    const DeviceMemory<float> taken(kCount);
    const DeviceMemory<float> sum(kCount);
    stream.begin_capture(GetParam());
    gather(source, index, taken, mode, stream);
    saxpy(2, taken, source, sum, stream);
    const Graph graph(stream);
    for (int round = 0; round < 3; ++round) {
      std::vector<float> values(kCount);
      std::vector<int> positions(kCount);
      for (int i = 0; i < kCount; ++i) {
        values[static_cast<std::size_t>(i)] = static_cast<float>(i + 1000 * round);
        positions[static_cast<std::size_t>(i)] = static_cast<int>((i * 7 + round) % kCount);
      }
      source.write(values);
      index.write(positions);
      cuda("cuCtxSynchronize");
      graph.launch(stream);
      stream.synchronize();
      const auto sums = sum.read();
      for (std::size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(sums[i], 2 * values[static_cast<std::size_t>(positions[i])] + values[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, GraphModeTest, testing::Values(kGlobal, kThreadLocal, kRelaxed));

// out overlaps the source: the result is first computed in scratch memory that the graph owns.
TEST_F(GraphTest, ScratchMemoryIsValidAtEveryLaunch) {
  const StreamHandle stream;
  const DeviceMemory<int> data(kCount);
  const DeviceMemory<int> index(kCount);
  std::vector<int> reversed = counting(0);
  std::reverse(reversed.begin(), reversed.end());
  index.write(reversed);
  cuda("cuCtxSynchronize");
  stream.begin_capture();
  gather(data, index, data, GPUKERN_INDEX_CLIP, stream);
  gather(data, index, data, GPUKERN_INDEX_WRAP, stream);
  gather(data, index, data, GPUKERN_INDEX_FILL, stream);
  const Graph graph(stream);
  for (int round = 0; round < 5; ++round) {
    data.write(counting(round));
    cuda("cuCtxSynchronize");
    graph.launch(stream);
    stream.synchronize();
    std::vector<int> expected = counting(round);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(data.read(), expected);
  }
}

TEST_F(GraphTest, RaiseIsRefusedAndTheCaptureContinues) {
  const StreamHandle stream;
  const DeviceMemory<int> source(kCount);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  stream.begin_capture();
  expect_error(try_gather(source, index, out, GPUKERN_INDEX_RAISE, stream), GPUKERN_VALUE_ERROR,
               "mode must not be raise while a CUDA graph is captured");
  gather(source, index, out, GPUKERN_INDEX_CLIP, stream);
  const Graph graph(stream);
}

TEST_F(GraphTest, MemoryOfACaptureRemainsValidForItsLaunches) {
  const StreamHandle stream;
  const DeviceMemory<int> source(kCount);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  index.write(counting(0));
  std::optional<DeviceMemory<int>> before(std::in_place, kCount, stream);
  std::optional<DeviceMemory<int>> during;
  cuda("cuCtxSynchronize");
  stream.begin_capture();
  during.emplace(kCount, stream);
  gather(source, index, *before, GPUKERN_INDEX_CLIP, stream);
  gather(*before, index, *during, GPUKERN_INDEX_CLIP, stream);
  before.reset();
  gather(*during, index, out, GPUKERN_INDEX_CLIP, stream);
  {
    const Graph graph(stream);
    during.reset();
    for (int round = 0; round < 5; ++round) {
      // Memory allocated now must not be memory that the graph uses.
      std::vector<DeviceMemory<int>*> others;
      for (int k = 0; k < 10; ++k) {
        others.push_back(new DeviceMemory<int>(kCount));
        enqueue_fill(others.back()->data(), 12345, kCount, nullptr);
      }
      source.write(counting(round));
      cuda("cuCtxSynchronize");
      graph.launch(stream);
      stream.synchronize();
      EXPECT_EQ(out.read(), counting(round));
      for (const auto* other : others) {
        EXPECT_EQ(other->read(), std::vector<int>(kCount, 12345));
        delete other;
      }
    }
  }
}

TEST_F(GraphTest, MemoryOfGraphsIsReleased) {
  const StreamHandle stream;
  auto capture_and_drop = [&] {
    stream.begin_capture();
    {
      const DeviceMemory<int> memory(std::int64_t{16} << 20, stream);
      enqueue_fill(memory.data(), 0, 100, stream);
    }
    const Graph graph(stream);
    graph.launch(stream);
    stream.synchronize();
  };
  std::size_t total = 0;
  auto free_memory = [&total] {
    std::size_t free = 0;
    cuda("cuCtxSynchronize");
    cuda("cuMemGetInfo_v2", &free, &total);
    return free;
  };
  for (int round = 0; round < 5; ++round) capture_and_drop();
  const std::size_t before = free_memory();
  // The pool keeps a sixteenth of the device's memory. A leak would exceed twice that.
  const std::size_t kept = total / 16 + (std::size_t{512} << 20);
  const std::size_t rounds = 2 * kept / (std::size_t{64} << 20);
  for (std::size_t round = 0; round < rounds; ++round) capture_and_drop();
  EXPECT_LT(before - std::min(before, free_memory()), kept);
}

TEST_F(GraphTest, StreamsJoinACapture) {
  const StreamHandle first;
  const StreamHandle second;
  const DeviceMemory<int> source(kCount);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  index.write(counting(0));
  std::uint64_t captures[2] = {};
  first.begin_capture();
  EXPECT_EQ(gpukern_stream_wait(kCuda, second, first), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(gpukern_stream_capture(kCuda, first, &captures[0]), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_stream_capture(kCuda, second, &captures[1]), GPUKERN_SUCCESS);
  EXPECT_NE(captures[0], 0U);
  EXPECT_EQ(captures[0], captures[1]);
  gather(source, index, out, GPUKERN_INDEX_CLIP, second);
  EXPECT_EQ(gpukern_stream_wait(kCuda, first, second), GPUKERN_SUCCESS) << gpukern_last_error();
  const Graph graph(first);
  source.write(counting(3));
  cuda("cuCtxSynchronize");
  graph.launch(first);
  first.synchronize();
  EXPECT_EQ(out.read(), counting(3));
}

TEST_F(GraphTest, ACaptureDoesNotWaitForWorkOutside) {
  const StreamHandle captured;
  const StreamHandle outside;
  gpukern_event* event = nullptr;
  captured.begin_capture();
  EXPECT_EQ(gpukern_stream_wait(kCuda, captured, outside), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_event_record(kCuda, captured, &event), GPUKERN_SUCCESS);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(gpukern_event_record(kCuda, outside, &event), GPUKERN_SUCCESS);
  EXPECT_NE(event, nullptr);
  EXPECT_EQ(gpukern_stream_wait_event(kCuda, captured, event), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_event_release(kCuda, event), GPUKERN_SUCCESS);
  const Graph graph(captured);
}

TEST_F(GraphTest, TwoCapturesAreNotJoined) {
  const StreamHandle first;
  const StreamHandle second;
  // Relaxed, since one graph is created during the capture of the other.
  first.begin_capture(kRelaxed);
  second.begin_capture(kRelaxed);
  expect_error(gpukern_stream_wait(kCuda, first, second), GPUKERN_VALUE_ERROR,
               "stream_wait: the two streams capture");
  const Graph of_second(second);
  const Graph of_first(first);
}

TEST_F(GraphTest, CapturesOfOtherThreadsRemainValid) {
  // Calls that CUDA rejects during a global capture are made before and after it.
  const StreamHandle captured;
  const StreamHandle stream;
  const DeviceMemory<int> source(kCount);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  index.write(counting(0));
  source.write(counting(0));
  cuda("cuCtxSynchronize");
  captured.begin_capture();
  gather(source, index, out, GPUKERN_INDEX_CLIP, captured);
  std::thread([&] {
    const OnDevice context;
    gpukern_event* event = nullptr;
    std::vector<int> host(kCount);
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    for (int round = 0; round < 50; ++round) {
      const DeviceMemory<int> apart(kCount * 100 * (round + 1), stream);
      const DeviceMemory<int> taken(kCount, stream);
      gather(source, index, taken, GPUKERN_INDEX_RAISE, stream);
      gather(taken, index, taken, GPUKERN_INDEX_CLIP, stream);
      EXPECT_EQ(gpukern_stream_wait(kCuda, nullptr, stream), GPUKERN_SUCCESS)
          << gpukern_last_error();
      std::int32_t done = -1;
      EXPECT_EQ(gpukern_event_record(kCuda, stream, &event), GPUKERN_SUCCESS);
      EXPECT_EQ(gpukern_event_query(kCuda, event, &done), GPUKERN_SUCCESS) << gpukern_last_error();
      const gpukern_tensor from = taken.tensor();
      gpukern_tensor to = from;
      to.data = host.data();
      to.device = kCpu;
      EXPECT_EQ(gpukern_copy(&from, &to, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
      EXPECT_EQ(host, counting(0));
      EXPECT_EQ(gpukern_copy(&to, &from, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
      EXPECT_EQ(gpukern_synchronize(kCuda, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
      EXPECT_EQ(gpukern_event_query(kCuda, event, &done), GPUKERN_SUCCESS);
      EXPECT_EQ(done, 1);
    }
    EXPECT_EQ(gpukern_event_release(kCuda, event), GPUKERN_SUCCESS);
  }).join();
  gather(out, index, out, GPUKERN_INDEX_WRAP, captured);
  const Graph graph(captured);
  graph.launch(captured);
  captured.synchronize();
  EXPECT_EQ(out.read(), counting(0));
}

TEST_F(GraphTest, TheLegacyStreamIsRefusedDuringACapture) {
  const DeviceMemory<int> source(kCount);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  std::optional<DeviceMemory<int>> dropped(std::in_place, kCount);
  source.write(counting(0));
  index.write(counting(0));
  cuda("cuCtxSynchronize");
  const StreamHandle captured(kBlocking);
  captured.begin_capture(kThreadLocal);
  for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_CLIP})
    EXPECT_EQ(try_gather(source, index, out, mode, nullptr), GPUKERN_VALUE_ERROR)
        << gpukern_last_error();
  EXPECT_EQ(gpukern_synchronize(kCuda, nullptr), GPUKERN_VALUE_ERROR);
  dropped.reset();
  {
    const DeviceMemory<int> made(kCount);
  }
  gather(source, index, out, GPUKERN_INDEX_CLIP, captured);
  const Graph graph(captured);
  gather(source, index, out, GPUKERN_INDEX_CLIP, nullptr);
}

TEST_F(GraphTest, TheLegacyStreamJoinsNoCapture) {
  const StreamHandle captured(kNonBlocking);
  captured.begin_capture(kThreadLocal);
  expect_error(gpukern_stream_wait(kCuda, nullptr, captured), GPUKERN_VALUE_ERROR,
               "stream_wait: the legacy default stream cannot join");
  const Graph graph(captured);
}

}  // namespace
}  // namespace gpukern_test

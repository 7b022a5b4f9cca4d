// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The order between streams, and memory whose release is ordered on streams.

#include <chrono>

#include "cuda_driver.hpp"
#include "device_memory.hpp"

namespace gpukern_test {
namespace {

class StreamTest : public GpuTest {};

TEST(StreamOnTheCpuTest, HasNothingToOrder) {
  gpukern_event* event = nullptr;
  std::uint64_t capture = 1;
  EXPECT_EQ(gpukern_stream_wait(kCpu, nullptr, nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_event_record(kCpu, nullptr, &event), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_stream_wait_event(kCpu, nullptr, event), GPUKERN_SUCCESS);
  std::int32_t done = 0;
  EXPECT_EQ(gpukern_event_query(kCpu, event, &done), GPUKERN_SUCCESS);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(gpukern_event_release(kCpu, event), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_stream_capture(kCpu, nullptr, &capture), GPUKERN_SUCCESS);
  EXPECT_EQ(capture, 0U);
  expect_error(gpukern_stream_capture(kCpu, nullptr, nullptr), GPUKERN_VALUE_ERROR,
               "stream_capture: capture must not be NULL");
  expect_error(gpukern_event_record(kCpu, nullptr, nullptr), GPUKERN_VALUE_ERROR,
               "event_record: event must not be NULL");
  expect_error(gpukern_event_query(kCpu, event, nullptr), GPUKERN_VALUE_ERROR,
               "event_query: done must not be NULL");
  expect_error(gpukern_stream_wait({GPUKERN_CUDA, 1000}, nullptr, nullptr), GPUKERN_DEVICE_ERROR,
               "there is no ");
}

TEST_F(StreamTest, PointersHaveADevice) {
  const DeviceMemory<int> memory(10);
  gpukern_device device{};
  EXPECT_EQ(gpukern_pointer_device(memory.data(), &device), GPUKERN_SUCCESS);
  EXPECT_EQ(device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(device.device_id, 0);
  void* pinned = nullptr;
  cuda("cuMemAllocHost_v2", &pinned, std::size_t{64});
  EXPECT_EQ(gpukern_pointer_device(pinned, &device), GPUKERN_SUCCESS);
  EXPECT_EQ(device.device_type, GPUKERN_CUDA_HOST);
  cuda("cuMemFreeHost", pinned);
  Address managed = 0;
  cuda("cuMemAllocManaged", &managed, std::size_t{64}, 1U);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): how the driver gives addresses
  EXPECT_EQ(gpukern_pointer_device(reinterpret_cast<void*>(managed), &device), GPUKERN_SUCCESS);
  EXPECT_EQ(device.device_type, GPUKERN_CUDA_MANAGED);
  cuda("cuMemFree_v2", managed);
}

/// Passes a value from a slow producer through a gather to a consumer, on three streams; `order`
/// makes the second stream wait for the first.
template <class Order>
int wrong_rounds(int rounds, const Order& order) {
  constexpr std::int64_t kCount = 4096;
  const StreamHandle producer;
  const StreamHandle middle;
  const StreamHandle consumer;
  const DeviceMemory<int> source(kCount);
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  const DeviceMemory<int> seen(rounds);
  enqueue_fill(index.data(), kCount - 1, kCount, nullptr);
  enqueue_fill(source.data(), ~0U, kCount, nullptr);
  enqueue_fill(out.data(), ~0U, kCount, nullptr);
  cuda("cuCtxSynchronize");
  for (int round = 0; round < rounds; ++round) {
    enqueue_delay(producer, 50);
    enqueue_fill(source.data(), static_cast<unsigned>(round), kCount, producer);
    order(middle, producer);
    gather(source, index, out, GPUKERN_INDEX_CLIP, middle);
    order(consumer, middle);
    enqueue_copy(seen.data() + round, out.data() + round % kCount, sizeof(int), consumer);
    order(producer, consumer);
  }
  cuda("cuCtxSynchronize");
  const auto values = seen.read();
  int wrong = 0;
  for (int round = 0; round < rounds; ++round)
    wrong += values[static_cast<std::size_t>(round)] != round ? 1 : 0;
  return wrong;
}

TEST_F(StreamTest, WaitsAreObeyed) {
  EXPECT_EQ(wrong_rounds(1000,
                         [](void* stream, void* other) {
                           EXPECT_EQ(gpukern_stream_wait(kCuda, stream, other), GPUKERN_SUCCESS)
                               << gpukern_last_error();
                         }),
            0);
}

TEST_F(StreamTest, EventsAreObeyed) {
  gpukern_event* event = nullptr;
  EXPECT_EQ(wrong_rounds(1000,
                         [&](void* stream, void* other) {
                           EXPECT_EQ(gpukern_event_record(kCuda, other, &event), GPUKERN_SUCCESS);
                           EXPECT_EQ(gpukern_stream_wait_event(kCuda, stream, event),
                                     GPUKERN_SUCCESS);
                         }),
            0);
  EXPECT_EQ(gpukern_event_release(kCuda, event), GPUKERN_SUCCESS);
}

// The test above is valid only if it detects a missing wait.
TEST_F(StreamTest, MissingWaitsAreDetected) {
  EXPECT_GT(wrong_rounds(100, [](void*, void*) {}), 0);
}

TEST_F(StreamTest, NothingWaitsOnTheHost) {
  const StreamHandle slow;
  const StreamHandle other;
  gpukern_event* event = nullptr;
  const DeviceMemory<int> memory(1000, slow);
  enqueue_delay(slow, 300000);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(gpukern_stream_wait(kCuda, other, slow), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_event_record(kCuda, slow, &event), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_stream_wait_event(kCuda, other, event), GPUKERN_SUCCESS);
  std::int32_t done = -1;
  EXPECT_EQ(gpukern_event_query(kCuda, event, &done), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(done, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(200));
  slow.synchronize();
  EXPECT_EQ(gpukern_event_query(kCuda, event, &done), GPUKERN_SUCCESS);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(gpukern_event_release(kCuda, event), GPUKERN_SUCCESS);
}

TEST_F(StreamTest, DefaultStreamsTakePart) {
  const StreamHandle stream(kBlocking);
  void* const legacy = nullptr;
  // NOLINTBEGIN(performance-no-int-to-ptr): CUDA's names of these streams
  void* const legacy_by_number = reinterpret_cast<void*>(1);
  void* const per_thread = reinterpret_cast<void*>(2);
  // NOLINTEND(performance-no-int-to-ptr)
  for (void* other : {legacy, legacy_by_number, per_thread}) {
    EXPECT_EQ(gpukern_stream_wait(kCuda, stream, other), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(gpukern_stream_wait(kCuda, other, stream), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(gpukern_stream_wait(kCuda, other, other), GPUKERN_SUCCESS) << gpukern_last_error();
  }
}

TEST_F(StreamTest, MemoryIsNotFreedBeforeItsUse) {
  constexpr std::int64_t kCount = 1 << 16;
  const StreamHandle user;
  const StreamHandle other;
  const DeviceMemory<int> index(kCount);
  const DeviceMemory<int> out(kCount);
  enqueue_fill(index.data(), 7, kCount, nullptr);
  cuda("cuCtxSynchronize");
  for (int round = 1; round <= 100; ++round) {
    {
      const DeviceMemory<int> source(kCount, user);
      enqueue_delay(user, 200);
      enqueue_fill(source.data(), static_cast<unsigned>(round), kCount, user);
      gather(source, index, out, GPUKERN_INDEX_WRAP, user);
    }
    // The next owner of the memory, on another stream, must not write to it too early.
    const DeviceMemory<int> next(kCount, other);
    enqueue_fill(next.data(), ~0U, kCount, other);
    user.synchronize();
    EXPECT_EQ(out.read(), std::vector<int>(kCount, round));
  }
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Asynchronous copies: their order on streams and in CUDA graphs.

#include <numeric>

#include "cuda_driver.hpp"
#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = 4096;
constexpr unsigned kLong = 200'000;  // microseconds

class CopyStreamTest : public GpuTest {};

std::vector<int> counting(int first) {
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// int32 in page-locked host memory.
class PinnedMemory {
 public:
  PinnedMemory() {
    void* data = nullptr;
    EXPECT_EQ(gpukern_allocate({GPUKERN_CUDA_HOST, 0}, kCount * sizeof(int), nullptr, &data),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    data_ = static_cast<int*>(data);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() {
    EXPECT_EQ(gpukern_release({GPUKERN_CUDA_HOST, 0}, data_, nullptr), GPUKERN_SUCCESS);
  }

  [[nodiscard]] int* data() const { return data_; }
  [[nodiscard]] std::vector<int> read() const { return {data_, data_ + kCount}; }
  void write(const std::vector<int>& values) { std::copy(values.begin(), values.end(), data_); }

 private:
  int* data_ = nullptr;
};

gpukern_tensor host_tensor(int* data) {
  static std::int64_t count = kCount;
  return {data, kCpu, 1, {GPUKERN_INT, 32, 1}, &count, nullptr, 0};
}

gpukern_status copy_async(const gpukern_tensor& source, const gpukern_tensor& destination,
                          void* stream) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.stream = stream;
  return gpukern_copy_async(&source, &destination, &exec);
}

bool is_done(const gpukern_event* event) {
  std::int32_t done = -1;
  EXPECT_EQ(gpukern_event_query(kCuda, event, &done), GPUKERN_SUCCESS) << gpukern_last_error();
  return done == 1;
}

TEST_F(CopyStreamTest, PinnedMemoryIsCopiedInOrderWithoutAWait) {
  const StreamHandle stream;
  const DeviceMemory<int> there(kCount, stream);
  PinnedMemory sent;
  PinnedMemory returned;
  sent.write(counting(0));
  returned.write(counting(-9000));
  enqueue_delay(stream, kLong);
  ASSERT_EQ(copy_async(host_tensor(sent.data()), there.tensor(), stream), GPUKERN_SUCCESS)
      << gpukern_last_error();
  ASSERT_EQ(copy_async(there.tensor(), host_tensor(returned.data()), stream), GPUKERN_SUCCESS)
      << gpukern_last_error();
  gpukern_event* event = nullptr;
  EXPECT_EQ(gpukern_event_record(kCuda, stream, &event), GPUKERN_SUCCESS);
  EXPECT_FALSE(is_done(event));
  EXPECT_EQ(returned.read(), counting(-9000));
  stream.synchronize();
  EXPECT_TRUE(is_done(event));
  EXPECT_EQ(returned.read(), counting(0));
  EXPECT_EQ(gpukern_event_release(kCuda, event), GPUKERN_SUCCESS);
}

TEST_F(CopyStreamTest, PageableMemoryIsCopiedInOrder) {
  const StreamHandle stream;
  const DeviceMemory<int> there(kCount, stream);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> sent = counting(round);
    std::vector<int> returned(kCount);
    enqueue_delay(stream, 1000);
    ASSERT_EQ(copy_async(host_tensor(sent.data()), there.tensor(), stream), GPUKERN_SUCCESS);
    ASSERT_EQ(copy_async(there.tensor(), host_tensor(returned.data()), stream), GPUKERN_SUCCESS);
    stream.synchronize();
    EXPECT_EQ(returned, sent);
  }
}

TEST_F(CopyStreamTest, AGraphCopiesTheCurrentContents) {
  const StreamHandle stream;
  const DeviceMemory<int> there(kCount);
  PinnedMemory sent;
  PinnedMemory returned;
  cuda("cuCtxSynchronize");
  stream.begin_capture();
  EXPECT_EQ(copy_async(host_tensor(sent.data()), there.tensor(), stream), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(copy_async(there.tensor(), host_tensor(returned.data()), stream), GPUKERN_SUCCESS)
      << gpukern_last_error();
  const Graph graph(stream);
  for (int round = 0; round < 3; ++round) {
    sent.write(counting(round));
    graph.launch(stream);
    stream.synchronize();
    EXPECT_EQ(returned.read(), counting(round));
  }
}

TEST_F(CopyStreamTest, PageableMemoryIsRefusedAndTheCaptureContinues) {
  const StreamHandle stream;
  const DeviceMemory<int> there(kCount);
  PinnedMemory sent;
  std::vector<int> ordinary(kCount);
  cuda("cuCtxSynchronize");
  stream.begin_capture();
  expect_error(copy_async(host_tensor(ordinary.data()), there.tensor(), stream),
               GPUKERN_VALUE_ERROR, "copy_async: source must be page-locked");
  expect_error(copy_async(there.tensor(), host_tensor(ordinary.data()), stream),
               GPUKERN_VALUE_ERROR, "copy_async: destination must be page-locked");
  EXPECT_EQ(copy_async(host_tensor(sent.data()), there.tensor(), stream), GPUKERN_SUCCESS)
      << gpukern_last_error();
  const Graph graph(stream);
}

TEST_F(CopyStreamTest, TheLegacyStreamIsRefusedDuringACapture) {
  const DeviceMemory<int> there(kCount);
  PinnedMemory sent;
  cuda("cuCtxSynchronize");
  const StreamHandle captured(kBlocking);
  captured.begin_capture(kThreadLocal);
  const gpukern_tensor all = there.tensor();
  gpukern_tensor strided = all;
  std::int64_t half = kCount / 2;
  std::int64_t two = 2;
  strided.shape = &half;
  strided.strides = &two;
  gpukern_tensor some = host_tensor(sent.data());
  some.shape = &half;
  expect_error(copy_async(host_tensor(sent.data()), all, nullptr), GPUKERN_VALUE_ERROR,
               "the legacy default stream takes no work");
  expect_error(copy_async(some, strided, nullptr), GPUKERN_VALUE_ERROR,
               "the legacy default stream takes no work");
  EXPECT_EQ(copy_async(host_tensor(sent.data()), all, captured), GPUKERN_SUCCESS)
      << gpukern_last_error();
  const Graph graph(captured);
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Bad indices that a GPU records: by launches of a CUDA graph, and by calls on several streams.

#include "device_memory.hpp"
#include "gpukern/index_errors.h"

namespace gpukern_test {
namespace {

class IndexErrorsGraphTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(gpukern_index_errors_create(kCuda, &errors_), GPUKERN_SUCCESS)
        << gpukern_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(gpukern_index_errors_destroy(errors_), GPUKERN_SUCCESS) << gpukern_last_error();
  }
  void gather(const DeviceMemory<float>& source, const DeviceMemory<int>& index,
              const DeviceMemory<float>& out, void* stream) const {
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    exec.index_errors = errors_;
    ASSERT_EQ(gpukern_gather(&from, &at, 0, &to, nullptr, &exec), GPUKERN_SUCCESS)
        << gpukern_last_error();
  }
  /// The number of the call with the first bad index, -1 if there is none.
  [[nodiscard]] std::int64_t bad_call() const {
    gpukern_bad_index first{};
    first.struct_size = sizeof first;
    first.call = -1;
    const gpukern_status status = gpukern_index_errors_check(errors_, &first);
    EXPECT_EQ(status, first.call < 0 ? GPUKERN_SUCCESS : GPUKERN_INDEX_ERROR);
    return first.call;
  }

  gpukern_index_errors* errors_ = nullptr;
};

TEST_F(IndexErrorsGraphTest, EachLaunchRecords) {
  const StreamHandle stream;
  const DeviceMemory<float> source(4);
  const DeviceMemory<int> index(3);
  const DeviceMemory<float> out(3);
  source.write({1, 2, 3, 4});
  stream.begin_capture();
  gather(source, index, out, stream);
  const Graph graph(stream);
  EXPECT_EQ(bad_call(), -1);
  const std::vector<int> good{3, -4, 0};
  const std::vector<int> bad{3, 4, 0};
  for (const auto& indices : {good, bad, bad, good}) {
    index.write(indices);
    cuda("cuCtxSynchronize");
    graph.launch(stream);
    stream.synchronize();
    EXPECT_EQ(bad_call(), indices == bad ? 0 : -1);
    EXPECT_EQ(out.read(), (std::vector<float>{4, indices == bad ? 0.0F : 1.0F, 1}));
  }
}

TEST_F(IndexErrorsGraphTest, CallsOnSeveralStreams) {
  constexpr std::int64_t kCount = 50000;
  const StreamHandle streams[4];
  const DeviceMemory<float> source(1000);
  const DeviceMemory<int> good(kCount);
  const DeviceMemory<int> bad(kCount);
  source.write(std::vector<float>(1000, 1));
  good.write(std::vector<int>(kCount, 999));
  bad.write(std::vector<int>(kCount, 1000));
  const DeviceMemory<float> outs[] = {DeviceMemory<float>(kCount), DeviceMemory<float>(kCount),
                                      DeviceMemory<float>(kCount), DeviceMemory<float>(kCount)};
  cuda("cuCtxSynchronize");
  std::int64_t call = 0;
  for (int round = 0; round < 100; ++round) {
    // All calls from this one on have bad indices.
    const std::int64_t first = call + round % 13;
    const std::int64_t end = call + 12;
    for (; call < end; ++call)
      gather(source, call < first ? good : bad, outs[call % 4], streams[call % 4]);
    ASSERT_EQ(bad_call(), first < end ? first : -1) << "round " << round;
  }
}

}  // namespace
}  // namespace gpukern_test

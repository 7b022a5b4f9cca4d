// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Kernels may come while the one before them in the stream still runs. None reads or writes any
// memory before that one is done.

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

/// A saxpy of many floats counts rounds; a gather of its last ones comes directly behind, and a
/// saxpy of few floats adds up what was gathered. A kernel that did not wait would see the round
/// before, or overwrite what is read.
class KernelOrderTest : public GpuTest {
 protected:
  static constexpr std::int64_t kMany = 4 << 20;  // some 20 us
  static constexpr int kRounds = 100;

  /// Gathers `count` rows of `width` floats from the end of `kMany`, in reverse order.
  struct Chain {
    Chain(std::int64_t count, std::int64_t floats)
        : width(floats),
          many(kMany),
          ones(kMany),
          index(count),
          taken(count * floats),
          sums(count * floats) {
      ones.write(std::vector<float>(kMany, 1));
      const auto rows = static_cast<int>(kMany / width);
      std::vector<int> reversed(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < reversed.size(); ++i)
        reversed[i] = rows - 1 - static_cast<int>(i);
      index.write(reversed);
    }

    void clear() const {
      many.write(std::vector<float>(kMany, 0));
      sums.write(std::vector<float>(sums.bytes() / sizeof(float), 0));
      cuda("cuCtxSynchronize");
    }

    void round(void* stream) const {
      saxpy(1, many, ones, many, stream);
      gpukern_tensor from = many.tensor();
      gpukern_tensor to = taken.tensor();
      const gpukern_tensor at = index.tensor();
      std::int64_t source_shape[] = {kMany / width, width};
      std::int64_t out_shape[] = {*at.shape, width};
      from.ndim = to.ndim = 2;
      from.shape = source_shape;
      to.shape = out_shape;
      gpukern_exec exec = GPUKERN_EXEC_INIT;
      exec.stream = stream;
      EXPECT_EQ(gpukern_gather(&from, &at, 0, GPUKERN_WRAP, nullptr, &to, &exec), GPUKERN_SUCCESS)
          << gpukern_last_error();
      saxpy(1, taken, sums, sums, stream);
    }

    void expect_sums(int rounds) const {
      const float expected = static_cast<float>(rounds * (rounds + 1) / 2);
      for (const float sum : sums.read()) ASSERT_EQ(sum, expected);
    }

    std::int64_t width;
    DeviceMemory<float> many;
    DeviceMemory<float> ones;
    DeviceMemory<int> index;
    DeviceMemory<float> taken;
    DeviceMemory<float> sums;
  };

  struct Shape {
    std::int64_t count;
    std::int64_t width;
  };
  // Few items and many, rows by chunks of 4, 8 and 16 bytes and by way of shared memory.
  static constexpr Shape kShapes[] = {{1000, 1}, {100000, 1}, {1 << 20, 1}, {2000, 2},
                                      {1000, 3}, {5000, 6},   {300, 16},    {100, 25},
                                      {50, 75},  {10, 1024},  {2000, 1001}};
};

TEST_F(KernelOrderTest, OfAStream) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(std::to_string(shape.count) + " rows of " + std::to_string(shape.width));
    const Chain chain(shape.count, shape.width);
    const StreamHandle stream;
    chain.clear();
    for (int round = 0; round < kRounds; ++round) chain.round(stream);
    stream.synchronize();
    chain.expect_sums(kRounds);
  }
}

TEST_F(KernelOrderTest, OfAGraph) {
  constexpr int kCaptured = 10;
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(std::to_string(shape.count) + " rows of " + std::to_string(shape.width));
    const Chain chain(shape.count, shape.width);
    const StreamHandle stream;
    chain.clear();
    stream.begin_capture();
    for (int round = 0; round < kCaptured; ++round) chain.round(stream);
    const Graph graph(stream);
    for (int launch = 0; launch < kRounds / kCaptured; ++launch) graph.launch(stream);
    stream.synchronize();
    chain.expect_sums(kRounds);
  }
}

}  // namespace
}  // namespace gpukern_test

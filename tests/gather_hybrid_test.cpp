// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Rows from page-locked host memory to a GPU, gathered by the GPU and the CPU together. The share
// of the CPU is set: by itself, only large calls would have one.

#include <memory>
#include <thread>

#include "device_memory.hpp"
#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

/// The share of the CPU, in percent, for the time of a test.
class Share {
 public:
  explicit Share(int percent) { setenv("GPUKERN_CPU_SHARE", std::to_string(percent).c_str(), 1); }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { unsetenv("GPUKERN_CPU_SHARE"); }
};

class PinnedMemory {
 public:
  explicit PinnedMemory(const Bytes& bytes) {
    EXPECT_EQ(gpukern_allocate(kPinned, bytes.size(), nullptr, &data_), GPUKERN_SUCCESS)
        << gpukern_last_error();
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { EXPECT_EQ(gpukern_release(kPinned, data_, nullptr), GPUKERN_SUCCESS); }
  [[nodiscard]] void* data() const { return data_; }

 private:
  static constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};
  void* data_ = nullptr;
};

/// A call with random rows, indices and memory of the result.
struct Rows {
  Rows(Random& random, std::int64_t table, std::int64_t count, int width,
       const IndexType& type = kInt64, std::int64_t reach = 0, Layout layout = Layout::Contiguous)
      : source(Place::CudaHost, bytes_dtype(width), {table}, layout),
        index(Place::Cuda, type.dtype, {count}),
        out(Place::Cuda, bytes_dtype(width), {count}) {
    fill_random(source.memory->host, random);
    fill_random(out.memory->host, random);
    fill_indices(index, random, table, reach);
    pinned = std::make_unique<PinnedMemory>(source.memory->host);
    index.memory->commit();
    out.memory->commit();
  }

  [[nodiscard]] gpukern_status run(gpukern_index_mode mode, const View* fill = nullptr,
                                   void* stream = nullptr) const {
    gpukern_tensor from = source.tensor();
    from.data = pinned->data();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    const gpukern_tensor value = fill != nullptr ? fill->tensor() : gpukern_tensor{};
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    return call_gather(&from, &at, 0, &to, gather_options(mode, fill != nullptr ? &value : nullptr),
                       &exec);
  }

  [[nodiscard]] Expected expected(gpukern_index_mode mode, const View* fill = nullptr) const {
    return gather_oracle({source, index, 0, mode, out, fill});
  }
  void expect_out(const Expected& expected) {
    out.memory->fetch();
    EXPECT_TRUE(same_bytes(expected.out, out.memory->host));
  }

  Array source;
  Array index;
  Array out;
  std::unique_ptr<PinnedMemory> pinned;
};

class MixedRowsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(MixedRowsTest, TakesAnyWidthIndexAndModeInAnyShare) {
  Random random(std::random_device{}());
  for (int round = 0; round < 60; ++round) {
    const int width = pick(random, std::vector{1, 3, 4, 8, 16, 20, 64, 100, 256, 1000, 1024, 4096});
    const auto count = between(random, 1, (std::int64_t{3} << 20) / width);
    const auto table = between(random, 1, 5000);
    const auto mode = static_cast<gpukern_index_mode>(random() % 4);
    const bool reach = mode != GPUKERN_INDEX_RAISE || random() % 4 == 0;
    Rows rows(random, table, std::min<std::int64_t>(count, 200000), width,
              kIndexTypes[random() % std::size(kIndexTypes)], reach ? table : 0,
              kInputLayouts[random() % std::size(kInputLayouts)]);
    const Array fill(Place::Cpu, rows.source.dtype, {});
    fill_random(fill.memory->host, random);
    const View* const value = mode == GPUKERN_INDEX_FILL && random() % 2 == 0 ? &fill : nullptr;
    const Share share(pick(random, std::vector{0, 1, 50, 90, 100}));
    const Expected expected = rows.expected(mode, value);
    const gpukern_status status = rows.run(mode, value);
    EXPECT_EQ(status, expected.status) << gpukern_last_error();
    if (status != GPUKERN_SUCCESS) {
      EXPECT_EQ(gpukern_last_error(), expected.message);
    }
    rows.expect_out(expected);
  }
}

/// Of a table that no core's cache holds rows are fetched ahead.
TEST_F(MixedRowsTest, TakesRowsOfALargeTable) {
  Random random(std::random_device{}());
  const Share share(100);
  for (const int width : {48, 64, 72, 80, 96, 256, 1008}) {
    const std::int64_t table = (std::int64_t{40} << 20) / width;
    for (const auto mode :
         {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL, GPUKERN_INDEX_RAISE}) {
      Rows rows(random, table, between(random, 3000, 6000), width,
                kIndexTypes[random() % std::size(kIndexTypes)],
                mode == GPUKERN_INDEX_RAISE ? 0 : table);
      const Expected expected = rows.expected(mode);
      ASSERT_EQ(rows.run(mode), GPUKERN_SUCCESS) << gpukern_last_error();
      rows.expect_out(expected);
    }
  }
}

TEST_F(MixedRowsTest, TheFillValueMayChangeBehindTheCall) {
  Random random(std::random_device{}());
  const Share share(80);
  Rows rows(random, 1000, 20000, 256, kInt64, 1000);
  Array fill(Place::Cpu, rows.source.dtype, {});
  fill_random(fill.memory->host, random);
  const Expected expected = rows.expected(GPUKERN_INDEX_FILL, &fill);
  ASSERT_EQ(rows.run(GPUKERN_INDEX_FILL, &fill), GPUKERN_SUCCESS) << gpukern_last_error();
  fill_random(fill.memory->host, random);
  rows.expect_out(expected);
}

TEST_F(MixedRowsTest, CallsShareTheSlots) {
  const Share share(90);
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([caller] {
      Random random(caller);
      std::vector<std::unique_ptr<Rows>> calls;
      std::vector<Expected> expected;
      for (int round = 0; round < 5; ++round) {
        calls.push_back(std::make_unique<Rows>(random, 3000, 30000 + round, 128));
        expected.push_back(calls.back()->expected(GPUKERN_INDEX_CLIP));
      }
      for (const auto& rows : calls)
        ASSERT_EQ(rows->run(GPUKERN_INDEX_CLIP), GPUKERN_SUCCESS) << gpukern_last_error();
      for (std::size_t k = 0; k < calls.size(); ++k) calls[k]->expect_out(expected[k]);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_F(MixedRowsTest, TheShareMustBeAPercentage) {
  Random random(1);
  const Rows rows(random, 10, 10, 4);
  for (const int share : {-1, 101}) {
    const Share set(share);
    expect_error(rows.run(GPUKERN_INDEX_CLIP), GPUKERN_VALUE_ERROR,
                 "GPUKERN_CPU_SHARE must be a percentage from 0 to 100, got ");
  }
}

class MixedStreamTest : public GpuTest {};

TEST_F(MixedStreamTest, CallsAreInFlightOnSeveralStreams) {
  Random random(std::random_device{}());
  const Share share(85);
  const std::vector<StreamHandle> streams(2);
  std::vector<std::unique_ptr<Rows>> calls;
  std::vector<Expected> expected;
  for (int k = 0; k < 6; ++k) {
    calls.push_back(std::make_unique<Rows>(random, 5000, 40000, 256));
    expected.push_back(calls.back()->expected(GPUKERN_INDEX_CLIP));
  }
  cuda("cuCtxSynchronize");
  for (std::size_t k = 0; k < calls.size(); ++k) {
    void* const stream = streams[k % 2];
    if (k < 2) enqueue_delay(stream, 20000);
    ASSERT_EQ(calls[k]->run(GPUKERN_INDEX_CLIP, nullptr, stream), GPUKERN_SUCCESS);
  }
  for (const StreamHandle& stream : streams) stream.synchronize();
  for (std::size_t k = 0; k < calls.size(); ++k) calls[k]->expect_out(expected[k]);
}

/// The rows come behind what wrote the indices, and before what reads the rows, on any stream.
TEST_F(MixedStreamTest, TheOrderOfTheStreamIsKept) {
  Random random(std::random_device{}());
  const Share share(85);
  for (int round = 0; round < 4; ++round) {
    Rows rows(random, 5000, 40000, 256);
    const Array last(Place::Cuda, rows.out.dtype, rows.out.shape);
    const Array early(Place::Cuda, rows.index.dtype, rows.index.shape);
    early.memory->host = rows.index.memory->host;
    early.memory->commit();
    const Expected expected = rows.expected(GPUKERN_INDEX_CLIP);
    rows.index.memory->host.assign(rows.index.memory->host.size(), std::byte{0});
    rows.index.memory->commit();
    cuda("cuCtxSynchronize");
    void* stream = nullptr;
    cuda("cuStreamCreate", &stream, static_cast<unsigned>(kNonBlocking));
    enqueue_delay(stream, 20000);
    enqueue_copy(rows.index.memory->data(), early.memory->data(), early.memory->host.size(),
                 stream);
    ASSERT_EQ(rows.run(GPUKERN_INDEX_CLIP, nullptr, stream), GPUKERN_SUCCESS)
        << gpukern_last_error();
    enqueue_copy(last.memory->data(), rows.out.memory->data(), rows.out.memory->host.size(),
                 stream);
    if (round % 2 == 0) cuda("cuStreamSynchronize", stream);
    cuda("cuStreamDestroy_v2", stream);  // its work goes on
    cuda("cuCtxSynchronize");
    last.memory->fetch();
    EXPECT_TRUE(same_bytes(expected.out, last.memory->host));
  }
}

TEST_F(MixedStreamTest, ACaptureReadsInPlace) {
  Random random(std::random_device{}());
  const Share share(85);
  const StreamHandle stream;
  Rows rows(random, 5000, 40000, 256);
  const Expected expected = rows.expected(GPUKERN_INDEX_CLIP);
  cuda("cuCtxSynchronize");
  stream.begin_capture();
  ASSERT_EQ(rows.run(GPUKERN_INDEX_CLIP, nullptr, stream), GPUKERN_SUCCESS) << gpukern_last_error();
  const Graph graph(stream);
  EXPECT_EQ(graph.nodes(), 1U);
  graph.launch(stream);
  stream.synchronize();
  rows.expect_out(expected);
}

TEST_F(MixedStreamTest, TheLegacyStreamIsRefusedWhileABlockingStreamCaptures) {
  Random random(std::random_device{}());
  const Share share(85);
  const StreamHandle stream(kBlocking);
  Rows rows(random, 5000, 40000, 256);
  const Expected expected = rows.expected(GPUKERN_INDEX_CLIP);
  cuda("cuCtxSynchronize");
  stream.begin_capture(kRelaxed);
  expect_error(rows.run(GPUKERN_INDEX_CLIP), GPUKERN_VALUE_ERROR,
               "the legacy default stream takes no work while a stream that blocks it");
  ASSERT_EQ(rows.run(GPUKERN_INDEX_CLIP, nullptr, stream), GPUKERN_SUCCESS) << gpukern_last_error();
  const Graph graph(stream);
  ASSERT_EQ(rows.run(GPUKERN_INDEX_CLIP), GPUKERN_SUCCESS) << gpukern_last_error();
  rows.expect_out(expected);
}

}  // namespace
}  // namespace gpukern_test

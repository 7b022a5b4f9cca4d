// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The order of hybrid gathers on the caller's streams.

#include <memory>

#include "device_memory.hpp"
#include "hybrid_rows.hpp"

namespace gpukern_test {
namespace {

class HybridStreamTest : public GpuTest {};

TEST_F(HybridStreamTest, CallsAreInFlightOnSeveralStreams) {
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

/// The rows are ordered after the kernel that wrote the indices and before the one that reads the
/// rows, on any stream.
TEST_F(HybridStreamTest, StreamOrderIsPreserved) {
  Random random(std::random_device{}());
  const Share share(85);
  for (int round = 0; round < 4; ++round) {
    Rows rows(random, 5000, 40000, 256);
    const Array last(Placement::Cuda, rows.out.dtype, rows.out.shape);
    const Array early(Placement::Cuda, rows.index.dtype, rows.index.shape);
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
    cuda("cuStreamDestroy_v2", stream);  // its work continues
    cuda("cuCtxSynchronize");
    last.memory->fetch();
    EXPECT_TRUE(same_bytes(expected.out, last.memory->host));
  }
}

TEST_F(HybridStreamTest, ACaptureReadsInPlace) {
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

TEST_F(HybridStreamTest, TheLegacyStreamIsRefusedWhileABlockingStreamCaptures) {
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

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// nonzero and compress captured into CUDA graphs.

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr int kCount = 20000;
constexpr int kSize = 9000;
constexpr int kColumns = 3;

class SelectGraphTest : public GpuTest {};

gpukern_exec exec_on(void* stream) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.stream = stream;
  return exec;
}

gpukern_status compress(const DeviceMemory<int>& mask, const DeviceMemory<int>& x,
                        const DeviceMemory<int>& out, std::int64_t columns, void* stream) {
  const gpukern_exec exec = exec_on(stream);
  std::int64_t from_shape[] = {kCount, columns};
  std::int64_t to_shape[] = {kSize, columns};
  const gpukern_tensor by = mask.tensor();
  gpukern_tensor from = x.tensor();
  gpukern_tensor to = out.tensor();
  from.shape = from_shape;
  to.shape = to_shape;
  from.ndim = to.ndim = columns == 1 ? 1 : 2;
  return gpukern_compress(&by, &from, 0, &to, nullptr, &exec);
}

TEST_F(SelectGraphTest, SelectionsRunAgainOnNewData) {
  const StreamHandle stream;
  const DeviceMemory<int> mask(kCount);
  const DeviceMemory<int> x(kCount);
  const DeviceMemory<int> rows(std::int64_t{kCount} * kColumns);
  const DeviceMemory<int> found(std::int64_t{2} * kSize);  // as int64
  const DeviceMemory<int> items(kSize);
  const DeviceMemory<int> found_rows(std::int64_t{kSize} * kColumns);
  stream.begin_capture();
  const gpukern_exec exec = exec_on(stream);
  const gpukern_tensor by = mask.tensor();
  gpukern_tensor to = found.tensor();
  std::int64_t shape[] = {1, kSize};
  to.ndim = 2;
  to.shape = shape;
  to.dtype = {GPUKERN_INT, 64, 1};
  ASSERT_EQ(gpukern_nonzero(&by, &to, nullptr, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(compress(mask, x, items, 1, stream), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(compress(mask, rows, found_rows, kColumns, stream), GPUKERN_SUCCESS)
      << gpukern_last_error();
  const Graph graph(stream);
  for (int round = 0; round < 4; ++round) {  // more, and fewer, than there is room for
    std::vector<int> selects(kCount);
    for (int i = 0; i < kCount; ++i)
      selects[static_cast<std::size_t>(i)] = i * 7 % (round + 1) == 0 ? round + 1 : 0;
    std::vector<int> values(std::size_t{kCount} * kColumns);
    std::iota(values.begin(), values.end(), 100 * round);
    mask.write(selects);
    rows.write(values);
    values.resize(kCount);
    x.write(values);
    cuda("cuCtxSynchronize");
    graph.launch(stream);
    stream.synchronize();
    const std::vector<int> positions = found.read();
    const std::vector<int> moved = items.read();
    const std::vector<int> moved_rows = found_rows.read();
    std::size_t k = 0;
    for (int i = 0; i < kCount && k < kSize; ++i) {
      if (selects[static_cast<std::size_t>(i)] == 0) continue;
      ASSERT_EQ(positions[2 * k], i);
      ASSERT_EQ(moved[k], 100 * round + i);
      ASSERT_EQ(moved_rows[kColumns * k + 1], 100 * round + kColumns * i + 1);
      ++k;
    }
    for (; k < kSize; ++k) {
      ASSERT_EQ(positions[2 * k], 0);
      ASSERT_EQ(moved[k], 0);
      ASSERT_EQ(moved_rows[kColumns * k], 0);
    }
  }
}

TEST_F(SelectGraphTest, CountIsRefused) {
  const StreamHandle stream;
  const DeviceMemory<int> mask(kCount);
  stream.begin_capture();
  const gpukern_exec exec = exec_on(stream);
  const gpukern_tensor by = mask.tensor();
  std::int64_t count = 0;
  expect_error(gpukern_count_nonzero(&by, &count, &exec), GPUKERN_VALUE_ERROR,
               "count_nonzero must not be called while a CUDA graph is captured");
  const Graph graph(stream);
}

}  // namespace
}  // namespace gpukern_test

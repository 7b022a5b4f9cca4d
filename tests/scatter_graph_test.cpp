// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Scatter in several ways of a GPU: captured into CUDA graphs, and with indices that change
// meanwhile.

#include <algorithm>
#include <climits>

#include "device_memory.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

/// Scatters along rows, by an index of `length` updates for each.
struct Case {
  const char* name;
  std::int64_t rows;
  std::int64_t positions;
  std::int64_t length;
  gpukern_reduce reduce;
  gpukern_order order = GPUKERN_ORDER_FIXED;
};

constexpr Case kCases[] = {
    {"hashed puts", 1, 1 << 20, 1000, GPUKERN_REDUCE_NONE},
    {"puts by a table", 1, 3000, 70000, GPUKERN_REDUCE_NONE},
    {"puts along rows", 400, 100, 150, GPUKERN_REDUCE_NONE},
    {"sorted puts", 1, 1 << 22, 70000, GPUKERN_REDUCE_NONE},
    {"hashed sums", 1, 5000, 60000, GPUKERN_REDUCE_ADD},
    {"hashed sums of few keys", 1, 50, 60000, GPUKERN_REDUCE_ADD},
    {"sorted sums", 1, 100, 70000, GPUKERN_REDUCE_ADD},
    {"sums in any order", 1, 100, 20000, GPUKERN_REDUCE_ADD, GPUKERN_ORDER_ANY},
};

class ScatterGraphTest : public GpuTest, public testing::WithParamInterface<Case> {
 protected:
  [[nodiscard]] std::int64_t elements() const { return GetParam().rows * GetParam().positions; }
  [[nodiscard]] std::int64_t updates() const { return GetParam().rows * GetParam().length; }

  /// The target begins at an element of `memory`.
  gpukern_status scatter(const DeviceMemory<float>& memory, std::int64_t from,
                         const DeviceMemory<int>& index, const DeviceMemory<float>& values,
                         gpukern_index_mode mode, void* stream) const {
    const Case& of = GetParam();
    std::int64_t target_shape[] = {of.rows, of.positions};
    std::int64_t index_shape[] = {of.rows, of.length};
    gpukern_tensor target = memory.tensor();
    target.data = memory.data() + from;
    gpukern_tensor at = index.tensor();
    gpukern_tensor added = values.tensor();
    target.ndim = at.ndim = added.ndim = 2;
    target.shape = target_shape;
    at.shape = added.shape = index_shape;
    gpukern_scatter_options options = scatter_options(mode, of.reduce);
    options.order = of.order;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    return gpukern_put_along_axis(&target, &at, &added, 1, nullptr, &options, &exec);
  }
};

TEST_P(ScatterGraphTest, RunsAgainOnNewData) {
  const Case& of = GetParam();
  for (const gpukern_index_mode mode :
       {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL}) {
    const StreamHandle stream;
    const DeviceMemory<float> target(elements());
    const DeviceMemory<int> index(updates());
    const DeviceMemory<float> values(updates());
    stream.begin_capture();
    ASSERT_EQ(scatter(target, 0, index, values, mode, stream), GPUKERN_SUCCESS)
        << gpukern_last_error();
    const Graph graph(stream);
    Random random(20261124);
    std::vector<float> expected(static_cast<std::size_t>(elements()));
    target.write(expected);
    for (int round = 0; round < 3; ++round) {
      std::vector<int> positions(static_cast<std::size_t>(updates()));
      std::vector<float> added(positions.size());
      for (std::size_t u = 0; u < positions.size(); ++u) {
        positions[u] = static_cast<int>(between(random, -2 * of.positions, 2 * of.positions));
        added[u] = static_cast<float>(between(random, -100, 100));
        const auto position = resolve(positions[u], of.positions, mode);
        if (!position) continue;
        float& element = expected[u / static_cast<std::size_t>(of.length) *
                                      static_cast<std::size_t>(of.positions) +
                                  static_cast<std::size_t>(*position)];
        element = of.reduce == GPUKERN_REDUCE_NONE ? added[u] : element + added[u];
      }
      index.write(positions);
      values.write(added);
      cuda("cuCtxSynchronize");
      graph.launch(stream);
      stream.synchronize();
      ASSERT_EQ(target.read(), expected) << "mode " << mode << ", round " << round;
    }
  }
}

TEST_P(ScatterGraphTest, RaiseIsRefused) {
  const StreamHandle stream;
  const DeviceMemory<float> target(elements());
  const DeviceMemory<int> index(updates());
  const DeviceMemory<float> values(updates());
  stream.begin_capture();
  expect_error(scatter(target, 0, index, values, GPUKERN_INDEX_RAISE, stream), GPUKERN_VALUE_ERROR,
               "mode must not be raise while a CUDA graph is captured");
  const Graph graph(stream);
}

/// Indices that become invalid or unsorted after they were checked write nothing outside the
/// target.
TEST_P(ScatterGraphTest, IndicesChangeMeanwhile) {
  constexpr std::int64_t kMargin = 4096;
  const StreamHandle stream;
  const StreamHandle writer;
  const DeviceMemory<float> memory(elements() + 2 * kMargin);
  const DeviceMemory<int> index(updates());
  const DeviceMemory<float> values(updates());
  memory.write(std::vector<float>(static_cast<std::size_t>(elements() + 2 * kMargin), 7.0F));
  values.write(std::vector<float>(static_cast<std::size_t>(updates()), 1.0F));
  index.write(std::vector<int>(static_cast<std::size_t>(updates())));
  cuda("cuCtxSynchronize");
  for (int round = 0; round < 40; ++round) {
    for (const int value : {0, INT_MAX, 0, static_cast<int>(GetParam().positions), 9, -1, 0})
      for (const std::int64_t first : {updates() / 2, std::int64_t{0}})
        enqueue_fill(index.data() + first, static_cast<unsigned>(value),
                     static_cast<std::size_t>(updates() - first), writer);
    const gpukern_status status =
        scatter(memory, kMargin, index, values, kModes[round % std::size(kModes)], stream);
    ASSERT_TRUE(status == GPUKERN_SUCCESS || status == GPUKERN_INDEX_ERROR) << gpukern_last_error();
  }
  cuda("cuCtxSynchronize");
  const auto found = memory.read();
  const auto is_margin = [](float element) { return element == 7.0F; };
  EXPECT_TRUE(std::all_of(found.begin(), found.begin() + kMargin, is_margin));
  EXPECT_TRUE(std::all_of(found.end() - kMargin, found.end(), is_margin));
}

INSTANTIATE_TEST_SUITE_P(Ways, ScatterGraphTest, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace gpukern_test

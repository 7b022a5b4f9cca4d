// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Scatter in several ways of a GPU: captured into CUDA graphs, also by a tuple of indices, and with
// indices that change meanwhile.

#include <algorithm>
#include <climits>

#include "device_memory.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

/// Scatters along rows, by an index of `length` updates for each, items of `columns` elements.
struct Case {
  const char* name;
  std::int64_t rows;
  std::int64_t positions;
  std::int64_t length;
  gpukern_reduce reduce;
  std::int64_t columns = 1;
  gpukern_order order = GPUKERN_ORDER_FIXED;
  bool unique = false;
};

constexpr Case kCases[] = {
    {"few puts", 1, 1 << 20, 1000, GPUKERN_REDUCE_NONE},
    {"few puts of few keys", 1, 37, 16384, GPUKERN_REDUCE_NONE},
    {"hashed puts", 1, 1 << 20, 20000, GPUKERN_REDUCE_NONE},
    {"puts by a table", 1, 3000, 70000, GPUKERN_REDUCE_NONE},
    {"puts along rows", 400, 100, 150, GPUKERN_REDUCE_NONE},
    {"puts of items", 1, 3000, 30000, GPUKERN_REDUCE_NONE, 17},
    {"sorted puts", 1, 1 << 22, 70000, GPUKERN_REDUCE_NONE},
    {"sorted puts of items", 3, 1000, 30000, GPUKERN_REDUCE_NONE, 5},
    {"hashed sums", 1, 5000, 20000, GPUKERN_REDUCE_ADD},
    {"hashed sums of few keys", 1, 50, 60000, GPUKERN_REDUCE_ADD},
    {"few sums of items", 20, 300, 200, GPUKERN_REDUCE_ADD, 5},
    {"few sums of one key", 1, 1, 1000, GPUKERN_REDUCE_ADD},
    {"few sums of few keys", 1, 37, 16384, GPUKERN_REDUCE_ADD},
    {"hashed sums of items", 20, 300, 2000, GPUKERN_REDUCE_ADD, 5},
    {"sorted sums", 1, 100, 70000, GPUKERN_REDUCE_ADD},
    {"sums by tiles", 1, 50000, 100000, GPUKERN_REDUCE_ADD},
    {"sums by tiles along rows", 100, 70, 1000, GPUKERN_REDUCE_ADD},
    {"sums by long slices of tiles", 1, 513, 1 << 18, GPUKERN_REDUCE_ADD},
    {"sums of items by tiles", 1, 1000, 100000, GPUKERN_REDUCE_ADD, 3},
    {"sums by slices", 1, 1 << 20, (1 << 23) + 5, GPUKERN_REDUCE_ADD},
    {"sorted sums of items", 1, 100, 70000, GPUKERN_REDUCE_ADD, 3},
    {"hashed minima", 1, 5000, 20000, GPUKERN_REDUCE_MIN},
    {"hashed maxima along rows", 40, 100, 500, GPUKERN_REDUCE_MAX},
    {"sorted minima of items", 1, 1000, 70000, GPUKERN_REDUCE_MIN, 2},
    {"sorted maxima", 1, 100, 70000, GPUKERN_REDUCE_MAX},
    {"sums in any order", 1, 100, 20000, GPUKERN_REDUCE_ADD, 1, GPUKERN_ORDER_ANY},
    {"sums of items in any order", 7, 100, 3000, GPUKERN_REDUCE_ADD, 3, GPUKERN_ORDER_ANY},
    {"unique puts", 1, 100000, 70000, GPUKERN_REDUCE_NONE, 1, GPUKERN_ORDER_FIXED, true},
    {"unique puts of items", 9, 300, 200, GPUKERN_REDUCE_NONE, 5, GPUKERN_ORDER_FIXED, true},
    {"unique sums", 30, 400, 300, GPUKERN_REDUCE_ADD, 1, GPUKERN_ORDER_FIXED, true},
    {"unique maxima of items", 1, 5000, 4000, GPUKERN_REDUCE_MAX, 3, GPUKERN_ORDER_FIXED, true},
};

class ScatterGraphTest : public GpuTest, public testing::WithParamInterface<Case> {
 protected:
  [[nodiscard]] std::int64_t indices() const { return GetParam().rows * GetParam().length; }
  [[nodiscard]] std::int64_t updates() const { return indices() * GetParam().columns; }
  [[nodiscard]] std::int64_t elements() const {
    return GetParam().rows * GetParam().positions * GetParam().columns;
  }

  /// The target begins at an element of `memory`.
  gpukern_status scatter(const DeviceMemory<float>& memory, std::int64_t from,
                         const DeviceMemory<int>& index, const DeviceMemory<float>& values,
                         gpukern_index_mode mode, void* stream) const {
    const Case& of = GetParam();
    std::int64_t target_shape[] = {of.rows, of.positions, of.columns};
    std::int64_t index_shape[] = {of.rows, of.length, 1};
    std::int64_t values_shape[] = {of.rows, of.length, of.columns};
    gpukern_tensor target = memory.tensor();
    target.data = memory.data() + from;
    gpukern_tensor at = index.tensor();
    gpukern_tensor added = values.tensor();
    target.ndim = at.ndim = added.ndim = 3;
    target.shape = target_shape;
    at.shape = index_shape;
    added.shape = values_shape;
    gpukern_scatter_options options = scatter_options(mode, of.reduce);
    options.order = of.order;
    options.unique = of.unique ? 1 : 0;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    return gpukern_put_along_axis(&target, &at, &added, 1, nullptr, &options, &exec);
  }

  /// Indices of every row, in bounds and beyond; if they are unique, different ones in bounds.
  [[nodiscard]] std::vector<int> random_positions(Random& random) const {
    const Case& of = GetParam();
    std::vector<int> positions;
    std::vector<int> every(static_cast<std::size_t>(of.positions));
    std::iota(every.begin(), every.end(), 0);
    for (std::int64_t row = 0; row < of.rows; ++row) {
      if (of.unique) std::shuffle(every.begin(), every.end(), random);
      for (std::int64_t k = 0; k < of.length; ++k)
        positions.push_back(
            of.unique ? every[static_cast<std::size_t>(k)]
                      : static_cast<int>(between(random, -2 * of.positions, 2 * of.positions)));
    }
    return positions;
  }

  /// Writes to the elements by definition.
  void write(std::vector<float>& elements, const std::vector<int>& positions,
             const std::vector<float>& values, gpukern_index_mode mode) const {
    const Case& of = GetParam();
    for (std::size_t u = 0; u < values.size(); ++u) {
      const auto update = static_cast<std::int64_t>(u);
      const std::int64_t i = update / of.columns;
      const auto position = resolve(positions[static_cast<std::size_t>(i)], of.positions, mode);
      if (!position) continue;
      const std::int64_t item = i / of.length * of.positions + static_cast<std::int64_t>(*position);
      float& element = elements[static_cast<std::size_t>(item * of.columns + update % of.columns)];
      element =
          of.reduce == GPUKERN_REDUCE_NONE ? values[u] : combined(of.reduce, element, values[u]);
    }
  }
};

std::vector<float> random_values(Random& random, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(between(random, -100, 100));
  return values;
}

TEST_P(ScatterGraphTest, RunsAgainOnNewData) {
  for (const gpukern_index_mode mode :
       {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL}) {
    const StreamHandle stream;
    const DeviceMemory<float> target(elements());
    const DeviceMemory<int> index(indices());
    const DeviceMemory<float> values(updates());
    stream.begin_capture();
    ASSERT_EQ(scatter(target, 0, index, values, mode, stream), GPUKERN_SUCCESS)
        << gpukern_last_error();
    const Graph graph(stream);
    Random random(20261124);
    std::vector<float> expected(static_cast<std::size_t>(elements()));
    target.write(expected);
    for (int round = 0; round < 3; ++round) {
      const std::vector<int> positions = random_positions(random);
      const std::vector<float> added = random_values(random, updates());
      write(expected, positions, added, mode);
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
  const DeviceMemory<int> index(indices());
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
  const DeviceMemory<int> index(indices());
  const DeviceMemory<float> values(updates());
  memory.write(std::vector<float>(static_cast<std::size_t>(elements() + 2 * kMargin), 7.0F));
  values.write(std::vector<float>(static_cast<std::size_t>(updates()), 1.0F));
  index.write(std::vector<int>(static_cast<std::size_t>(indices())));
  cuda("cuCtxSynchronize");
  for (int round = 0; round < 40; ++round) {
    for (const int value : {0, INT_MAX, 0, static_cast<int>(GetParam().positions), 9, -1, 0})
      for (const std::int64_t first : {indices() / 2, std::int64_t{0}})
        enqueue_fill(index.data() + first, static_cast<unsigned>(value),
                     static_cast<std::size_t>(indices() - first), writer);
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

class ScatterTupleGraphTest : public GpuTest {
 protected:
  static constexpr std::int64_t kRows = 60;
  static constexpr std::int64_t kPositions = 500;

  /// Scatters by an index of rows and one of positions.
  static gpukern_status scatter(const DeviceMemory<float>& target, const DeviceMemory<int>& rows,
                                const DeviceMemory<int>& positions,
                                const DeviceMemory<float>& values, gpukern_index_mode mode,
                                gpukern_reduce reduce, void* stream) {
    std::int64_t shape[] = {kRows, kPositions};
    gpukern_tensor to = target.tensor();
    to.ndim = 2;
    to.shape = shape;
    const gpukern_tensor first = rows.tensor();
    const gpukern_tensor second = positions.tensor();
    const gpukern_tensor* const further = &second;
    const gpukern_tensor from = values.tensor();
    gpukern_scatter_options options = scatter_options(mode, reduce);
    options.further_index_count = 1;
    options.further_indices = &further;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    return gpukern_scatter(&to, &first, &from, 0, nullptr, &options, &exec);
  }

  /// Writes to the elements by definition.
  static void write(std::vector<float>& elements, const std::vector<int>& rows,
                    const std::vector<int>& positions, const std::vector<float>& values,
                    gpukern_index_mode mode, gpukern_reduce reduce) {
    for (std::size_t u = 0; u < values.size(); ++u) {
      const auto row = resolve(rows[u], kRows, mode);
      const auto position = resolve(positions[u], kPositions, mode);
      if (!row || !position) continue;
      float& element = elements[static_cast<std::size_t>(*row * kPositions + *position)];
      element = reduce == GPUKERN_REDUCE_NONE ? values[u] : combined(reduce, element, values[u]);
    }
  }

  static void check(gpukern_index_mode mode, gpukern_reduce reduce, std::int64_t count) {
    const StreamHandle stream;
    const DeviceMemory<float> target(kRows * kPositions);
    const DeviceMemory<int> rows(count);
    const DeviceMemory<int> positions(count);
    const DeviceMemory<float> values(count);
    stream.begin_capture();
    ASSERT_EQ(scatter(target, rows, positions, values, mode, reduce, stream), GPUKERN_SUCCESS)
        << gpukern_last_error();
    const Graph graph(stream);
    Random random(20261126);
    std::vector<float> expected(static_cast<std::size_t>(kRows * kPositions));
    target.write(expected);
    for (int round = 0; round < 3; ++round) {
      std::vector<int> first(static_cast<std::size_t>(count));
      std::vector<int> second(first.size());
      for (int& row : first) row = static_cast<int>(between(random, -2 * kRows, 2 * kRows));
      for (int& position : second)
        position = static_cast<int>(between(random, -2 * kPositions, 2 * kPositions));
      const std::vector<float> added = random_values(random, count);
      write(expected, first, second, added, mode, reduce);
      rows.write(first);
      positions.write(second);
      values.write(added);
      cuda("cuCtxSynchronize");
      graph.launch(stream);
      stream.synchronize();
      ASSERT_EQ(target.read(), expected) << "round " << round;
    }
  }
};

TEST_F(ScatterTupleGraphTest, RunsAgainOnNewData) {
  for (const gpukern_index_mode mode : {GPUKERN_INDEX_WRAP, GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL})
    for (const gpukern_reduce reduce :
         {GPUKERN_REDUCE_NONE, GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MIN})
      for (const std::int64_t count : {1000, 70000}) {
        SCOPED_TRACE("mode " + std::to_string(mode) + ", reduce " + std::to_string(reduce) + ", " +
                     std::to_string(count) + " updates");
        check(mode, reduce, count);
      }
}

TEST_F(ScatterTupleGraphTest, RaiseIsRefused) {
  const StreamHandle stream;
  const DeviceMemory<float> target(kRows * kPositions);
  const DeviceMemory<int> rows(1000);
  const DeviceMemory<int> positions(1000);
  const DeviceMemory<float> values(1000);
  stream.begin_capture();
  expect_error(
      scatter(target, rows, positions, values, GPUKERN_INDEX_RAISE, GPUKERN_REDUCE_NONE, stream),
      GPUKERN_VALUE_ERROR, "mode must not be raise while a CUDA graph is captured");
  const Graph graph(stream);
}

}  // namespace
}  // namespace gpukern_test

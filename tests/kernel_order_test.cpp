// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Programmatic launches: a kernel may start while the previous one of its stream still runs, but
// accesses no memory before that kernel, or the part it depends on, is complete.

#include <array>
#include <memory>
#include <ostream>
#include <vector>

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kMany = 4 << 20;  // a saxpy of about 20 us
constexpr int kRounds = 100;

/// The rows to gather, and the number of floats before the first one of an operand of saxpy.
struct Shape {
  std::int64_t count;
  std::int64_t width;
  std::int64_t shift = 0;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.count << " rows of " << shape.width << ", shifted by " << shape.shift;
}

/// Few items; pairs; vectors of four. Rows in words of 4, 8 and 16 bytes, few and many, and through
/// shared memory. A saxpy of words, and of shifted words.
constexpr Shape kShapes[] = {{1000, 1}, {60000, 1, 1}, {132000, 1},  {500000, 1, 3}, {9 << 20, 1},
                             {2000, 2}, {1000, 3},     {5000, 6},    {300, 16},      {100, 25},
                             {50, 75},  {10, 1024},    {9000, 1024}, {3000, 1001, 2}};

class KernelOrderTest : public GpuTest, public testing::WithParamInterface<Shape> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) data_ = std::make_unique<Data>(GetParam());
  }

  struct Data {
    explicit Data(const Shape& rows)
        : shape(rows),
          many(kMany),
          ones(kMany + rows.shift),
          index(rows.count),
          taken(rows.count * rows.width),
          sums(rows.count * rows.width) {
      ones.write(std::vector<float>(ones.bytes() / sizeof(float), 1));
      many.write(std::vector<float>(kMany, 0));
      sums.write(std::vector<float>(sums.bytes() / sizeof(float), 0));
      // From both ends of the source, which saxpy writes first and last.
      const std::int64_t all = kMany / rows.width;
      std::vector<int> ends(static_cast<std::size_t>(rows.count));
      for (std::size_t i = 0; i < ends.size(); ++i) {
        const auto far = static_cast<std::int64_t>(i / 2) % all;
        ends[i] = static_cast<int>(i % 2 == 0 ? far : all - 1 - far);
      }
      index.write(ends);
      cuda("cuCtxSynchronize");
    }

    /// Adds one to `many`.
    void count(void* stream) const {
      const gpukern_tensor x = many.tensor();
      gpukern_tensor y = x;
      y.data = ones.data() + shape.shift;
      const float a = 1;
      gpukern_exec exec = GPUKERN_EXEC_INIT;
      exec.stream = stream;
      EXPECT_EQ(gpukern_saxpy(&a, &x, &y, &x, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
    }
    void take(float* to, void* stream) const {
      gpukern_tensor from = many.tensor();
      gpukern_tensor out = taken.tensor();
      const gpukern_tensor at = index.tensor();
      std::array<std::int64_t, 2> source_shape{kMany / shape.width, shape.width};
      std::array<std::int64_t, 2> out_shape{shape.count, shape.width};
      from.ndim = out.ndim = 2;
      from.shape = source_shape.data();
      out.shape = out_shape.data();
      out.data = to;
      gpukern_exec exec = GPUKERN_EXEC_INIT;
      exec.stream = stream;
      EXPECT_EQ(call_gather(&from, &at, 0, &out, gather_options(GPUKERN_INDEX_WRAP), &exec),
                GPUKERN_SUCCESS)
          << gpukern_last_error();
    }
    /// Increments a counter, gathers it and sums it up: each kernel reads what the previous one
    /// wrote.
    void round(void* stream) const {
      count(stream);
      take(taken.data(), stream);
      saxpy(1, taken, sums, sums, stream);
    }
    void expect_sums() const {
      for (const float sum : sums.read()) ASSERT_EQ(sum, kRounds * (kRounds + 1) / 2);
    }

    Shape shape;
    DeviceMemory<float> many;
    DeviceMemory<float> ones;
    DeviceMemory<int> index;
    DeviceMemory<float> taken;
    DeviceMemory<float> sums;
  };

  std::unique_ptr<Data> data_;
};

TEST_P(KernelOrderTest, ReadsFollowWrites) {
  const StreamHandle stream;
  for (int round = 0; round < kRounds; ++round) data_->round(stream);
  stream.synchronize();
  data_->expect_sums();
}

TEST_P(KernelOrderTest, ReadsFollowWritesInAGraph) {
  constexpr int kCaptured = 10;
  const StreamHandle stream;
  stream.begin_capture();
  for (int round = 0; round < kCaptured; ++round) data_->round(stream);
  const Graph graph(stream);
  for (int launch = 0; launch < kRounds / kCaptured; ++launch) graph.launch(stream);
  stream.synchronize();
  data_->expect_sums();
}

/// The next saxpy writes to memory that the previous gather reads.
TEST_P(KernelOrderTest, WritesFollowReads) {
  constexpr int kKept = 8;
  const auto items = static_cast<std::size_t>(data_->shape.count * data_->shape.width);
  const DeviceMemory<float> kept(static_cast<std::int64_t>(kKept * items));
  const StreamHandle stream;
  cuda("cuCtxSynchronize");
  for (int round = 0; round < kRounds; ++round) {
    data_->count(stream);
    data_->take(kept.data() + static_cast<std::size_t>(round % kKept) * items, stream);
  }
  stream.synchronize();
  const std::vector<float> found = kept.read();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int slot = static_cast<int>(i / items);
    const int last = kRounds - 1 - (kRounds - 1 - slot) % kKept;
    ASSERT_EQ(found[i], static_cast<float>(last + 1)) << i;
  }
}

/// Other work runs between gpukern's kernels.
TEST_P(KernelOrderTest, WaitsForOtherWork) {
  const StreamHandle stream;
  for (int round = 0; round < kRounds; ++round) {
    data_->count(stream);
    data_->take(data_->taken.data(), stream);
    enqueue_fill(data_->many.data(), 0, kMany, stream);
    data_->count(stream);
    saxpy(1, data_->taken, data_->sums, data_->sums, stream);
  }
  stream.synchronize();
  for (const float sum : data_->sums.read()) ASSERT_EQ(sum, 2 * kRounds - 1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, KernelOrderTest, testing::ValuesIn(kShapes));

/// With many indices, the first ones are gathered while all are sampled, if they are close
/// together.
class EarlyGatherTest : public GpuTest {
 protected:
  static constexpr std::int64_t kItems = 12 << 20;
  static constexpr std::int64_t kIndices = 33 << 20;
  static constexpr std::int64_t kFirst = 2 << 20;
  static constexpr int kAll = 20;

  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) data_ = std::make_unique<Data>();
  }

  static std::int64_t first_position(std::int64_t k) { return k * (kItems - kAll) / kIndices; }

  struct Data {
    Data() {
      std::vector<int> made(kIndices, 0);
      sums.write(made);
      for (std::int64_t k = 0; k < kIndices; ++k)
        made[static_cast<std::size_t>(k)] = static_cast<int>(first_position(k));
      index.write(made);
      for (std::size_t k = 0; k < items.size(); ++k) items[k] = static_cast<int>(k * 2654435761U);
      source.write(items);
      one.write({1});
      cuda("cuCtxSynchronize");
    }

    /// Adds an array, or one number, to an array whose first part is written last, in a kernel so
    /// short that the next one may start immediately.
    static void add(const DeviceMemory<int>& what, const DeviceMemory<int>& to, void* stream) {
      const std::int64_t all = *to.tensor().shape;
      std::int64_t stride = *what.tensor().shape == 1 ? 0 : 1;
      for (const std::int64_t begin : {kFirst, std::int64_t{0}}) {
        std::int64_t count = begin > 0 ? all - begin : kFirst;
        gpukern_tensor x = what.tensor();
        gpukern_tensor sum = to.tensor();
        x.data = what.data() + stride * begin;
        sum.data = to.data() + begin;
        x.strides = &stride;
        x.shape = sum.shape = &count;
        const std::int32_t a = 1;
        gpukern_exec exec = GPUKERN_EXEC_INIT;
        exec.stream = stream;
        EXPECT_EQ(gpukern_saxpy(&a, &x, &sum, &sum, &exec), GPUKERN_SUCCESS)
            << gpukern_last_error();
      }
    }

    /// Items and indices differ in each round.
    void round(bool index_last, void* stream) const {
      add(one, index_last ? source : index, stream);
      add(one, index_last ? index : source, stream);
      gather(source, index, taken, GPUKERN_INDEX_CLIP, stream);
      add(taken, sums, stream);
    }

    void expect_sums() const {
      const std::vector<int> found = sums.read();
      for (std::int64_t k = 0; k < kIndices; ++k) {
        unsigned sum = 0;
        for (int round = 1; round <= kAll; ++round)
          sum += static_cast<unsigned>(items[static_cast<std::size_t>(first_position(k) + round)] +
                                       round);
        ASSERT_EQ(static_cast<unsigned>(found[static_cast<std::size_t>(k)]), sum) << k;
      }
    }

    std::vector<int> items = std::vector<int>(kItems);
    DeviceMemory<int> source{kItems};
    DeviceMemory<int> index{kIndices};
    DeviceMemory<int> taken{kIndices};
    DeviceMemory<int> sums{kIndices};
    DeviceMemory<int> one{1};
  };

  std::unique_ptr<Data> data_;
};

TEST_F(EarlyGatherTest, FollowsWritesOfIndicesAndItems) {
  const StreamHandle stream;
  for (int round = 0; round < kAll; ++round) data_->round(round % 2 == 0, stream);
  stream.synchronize();
  data_->expect_sums();
}

TEST_F(EarlyGatherTest, FollowsWritesInAGraph) {
  constexpr int kCaptured = 5;
  const StreamHandle stream;
  stream.begin_capture();
  for (int round = 0; round < kCaptured; ++round) data_->round(round % 2 == 0, stream);
  const Graph graph(stream);
  for (int launch = 0; launch < kAll / kCaptured; ++launch) graph.launch(stream);
  stream.synchronize();
  data_->expect_sums();
}

class EarlyKernelTest : public GpuTest {};

TEST_F(EarlyKernelTest, GraphsHaveProgrammaticEdges) {
  int major = 0;
  constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  cuda("cuDeviceGetAttribute", &major, kMajor, 0);
  if (major < 9) GTEST_SKIP() << "compute capability 9.0 is the first with such launches";
  const StreamHandle stream;
  const DeviceMemory<float> x(1000);
  stream.begin_capture();
  saxpy(1, x, x, x, stream);
  saxpy(1, x, x, x, stream);
  const Graph graph(stream);
  struct EdgeData {
    unsigned char from_port, to_port, type, reserved[5];
  };
  void* from = nullptr;
  void* to = nullptr;
  EdgeData edge{};
  std::size_t edges = 1;
  cuda("cuGraphGetEdges_v2", graph.handle(), &from, &to, &edge, &edges);
  EXPECT_EQ(edges, 1U);
  constexpr unsigned char kProgrammatic = 1;  // CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
  EXPECT_EQ(edge.type, kProgrammatic);
}

/// By tiles, and by elements of short rows: a kernel reads what the previous one wrote.
TEST_F(EarlyKernelTest, StridedSumsAreInOrder) {
  for (const auto& [rows, columns, pitch] :
       {std::array<std::int64_t, 3>{30000, 100, 128}, {400000, 5, 8}}) {
    const DeviceMemory<float> ones(rows * pitch);
    const DeviceMemory<float> counts(rows * pitch);
    ones.write(std::vector<float>(static_cast<std::size_t>(rows * pitch), 1));
    counts.write(std::vector<float>(static_cast<std::size_t>(rows * pitch), 0));
    std::array<std::int64_t, 2> shape{rows, columns};
    std::array<std::int64_t, 2> strides{pitch, 1};
    gpukern_tensor one = ones.tensor();
    gpukern_tensor count = counts.tensor();
    for (gpukern_tensor* view : {&one, &count}) {
      view->ndim = 2;
      view->shape = shape.data();
      view->strides = strides.data();
    }
    const float a = 1;
    const StreamHandle stream;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    cuda("cuCtxSynchronize");
    for (int round = 0; round < kRounds; ++round)
      ASSERT_EQ(gpukern_saxpy(&a, &one, &count, &count, &exec), GPUKERN_SUCCESS)
          << gpukern_last_error();
    stream.synchronize();
    const std::vector<float> sums = counts.read();
    for (std::int64_t i = 0; i < rows * pitch; ++i)
      ASSERT_EQ(sums[static_cast<std::size_t>(i)], i % pitch < columns ? kRounds : 0);
  }
}

/// Several launches for each list: a list reads what the previous one wrote.
TEST_F(EarlyKernelTest, ListsAreInOrder) {
  constexpr std::int64_t kArrays = 2100;
  std::int64_t each = 3000;
  const DeviceMemory<float> ones(each);
  const DeviceMemory<float> counts(kArrays * each);
  ones.write(std::vector<float>(static_cast<std::size_t>(each), 1));
  counts.write(std::vector<float>(static_cast<std::size_t>(kArrays * each), 0));
  gpukern_tensor one = ones.tensor();
  one.shape = &each;
  std::vector<gpukern_tensor> parts(kArrays, one);
  std::vector<const gpukern_tensor*> x(kArrays, &one);
  std::vector<const gpukern_tensor*> y;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    parts[k].data = counts.data() + static_cast<std::int64_t>(k) * each;
    y.push_back(&parts[k]);
  }
  const StreamHandle stream;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.stream = stream;
  const float a = 1;
  cuda("cuCtxSynchronize");
  for (int round = 0; round < kRounds; ++round)
    ASSERT_EQ(gpukern_saxpy_many(&a, x.data(), y.data(), y.data(), parts.size(), &exec),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
  cuda("cuCtxSynchronize");
  for (const float count : counts.read()) ASSERT_EQ(count, kRounds);
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gpukern_pipeline_run(): any strides and overlap, failing steps, cancelled calls.

#include <memory>

#include "gather_oracle.hpp"
#include "pipeline_support.hpp"

namespace gpukern_test {
namespace {

class PipelineRunTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

/// The elements of a view, broadcast to a shape.
std::vector<std::uint32_t> repeated(const View& view, const Shape& shape) {
  View wide = view;
  wide.shape = shape;
  wide.strides.assign(shape.size(), 0);
  const std::size_t more = shape.size() - view.shape.size();
  for (std::size_t d = more; d < shape.size(); ++d)
    if (view.shape[d - more] != 1) wide.strides[d] = view.strides[d - more];
  std::vector<std::uint32_t> values;
  for (const auto offset : wide.offsets())
    values.push_back(load<std::uint32_t>(view.memory->host, offset));
  return values;
}

/// Sums host arrays and compares every byte of the memory of `out`.
void expect_sum(const std::vector<const View*>& inputs, const View& out, gpukern_exec exec) {
  Bytes expected = out.memory->host;
  std::vector<std::uint32_t> sum = repeated(*inputs[0], out.shape);
  for (const View* input : inputs) {
    const std::vector<std::uint32_t> more = repeated(*input, out.shape);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  const auto offsets = out.offsets();
  for (std::size_t i = 0; i < sum.size(); ++i) store(expected, offsets[i], sum[i]);

  std::vector<gpukern_tensor> tensors;
  tensors.reserve(inputs.size());
  for (const View* input : inputs) tensors.push_back(input->tensor());
  std::vector<const gpukern_tensor*> pointers;
  pointers.reserve(inputs.size());
  for (const gpukern_tensor& tensor : tensors) pointers.push_back(&tensor);
  const gpukern_tensor to = out.tensor();
  std::int64_t count = 0;
  ASSERT_EQ(gpukern_pipeline_run(pointers.data(), pointers.size(), &to, add_up, &count, &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(count, out.count());
  EXPECT_TRUE(same_bytes(expected, out.memory->host));
}

/// A shape that broadcasts to another one.
Shape part_of(Shape shape, Random& random) {
  if (random() % 2 == 0) return shape;
  for (auto& size : shape)
    if (random() % 3 == 0) size = 1;
  const auto dropped = static_cast<std::ptrdiff_t>(random() % (shape.size() + 1));
  shape.erase(shape.begin(), shape.begin() + dropped);
  return shape;
}

TEST_F(PipelineRunTest, TakesAnyLayoutAndRepeats) {
  Random random(std::random_device{}());
  for (int round = 0; round < 400; ++round) {
    Shape shape(random() % 5);
    for (auto& size : shape) size = between(random, round % 20 == 0 ? 0 : 1, 15);
    const std::size_t count = round % 50 == 0 ? GPUKERN_PIPELINE_MAX_INPUTS : 1 + random() % 4;
    std::vector<std::unique_ptr<Array>> inputs;
    std::vector<const View*> views;
    for (std::size_t k = 0; k < count; ++k) {
      inputs.push_back(std::make_unique<Array>(Placement::CudaHost, kInt, part_of(shape, random),
                                               kInputLayouts[random() % std::size(kInputLayouts)]));
      fill_random(inputs.back()->memory->host, random);
      views.push_back(inputs.back().get());
    }
    Array out(Placement::CudaHost, kInt, shape,
              kOutputLayouts[random() % std::size(kOutputLayouts)]);
    fill_random(out.memory->host, random);
    expect_sum(views, out, limited(pick<std::size_t>(random, {1, 3000, 20000, 1 << 20})));
  }
}

TEST_F(PipelineRunTest, OutMayOverlapTheInputs) {
  Random random(3);
  for (const std::int64_t shift : {-40, -4, 0, 4, 4000}) {
    Array memory(Placement::CudaHost, kInt, {9000});
    fill_random(memory.memory->host, random);
    View x = memory;
    x.shape = {4000};
    x.offset += 8000;
    View out = x;
    out.offset += shift;
    View first = x;
    first.shape = {1};
    expect_sum({&x, &x}, out, limited(5000));
    expect_sum({&x, &first}, out, limited(5000));
  }
}

/// The items of a source on the GPU.
gpukern_status take(void* user, const gpukern_pipeline_chunk* chunk) {
  const gpukern_exec exec = on_stream(chunk->stream);
  return call_gather(static_cast<gpukern_tensor*>(user), &chunk->inputs[0], 0, &chunk->out,
                     gather_options(GPUKERN_INDEX_WRAP), &exec);
}

TEST_F(PipelineRunTest, ItemsMayDifferInSize) {
  Random random(5);
  for (const std::int64_t count : {1, 77, 5000}) {
    Array source(Placement::Cuda, bytes_dtype(24), {10});
    fill_random(source.memory->host, random);
    source.memory->commit();
    Array index(Placement::CudaHost, {GPUKERN_INT, 8, 1}, {count});
    fill_indices(index, random, 10);
    const Array out(Placement::CudaHost, bytes_dtype(24), {count});
    gpukern_tensor from = source.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    const gpukern_tensor* const inputs[] = {&at};
    const gpukern_exec exec = limited(20000);
    const Bytes expected = gather_oracle({source, index, 0, GPUKERN_INDEX_WRAP, out}).out;
    ASSERT_EQ(gpukern_pipeline_run(inputs, 1, &to, take, &from, &exec), GPUKERN_SUCCESS)
        << gpukern_last_error();
    EXPECT_TRUE(same_bytes(expected, out.memory->host));
  }
}

gpukern_status set_to_seven(void* /*user*/, const gpukern_pipeline_chunk* chunk) {
  EXPECT_EQ(chunk->input_count, 0U);
  const std::vector<std::int32_t> sevens(static_cast<std::size_t>(chunk->count), 7);
  gpukern_tensor from = chunk->out;
  from.data = const_cast<std::int32_t*>(sevens.data());
  from.device = kCpu;
  const gpukern_exec exec = on_stream(chunk->stream);
  return gpukern_copy(&from, &chunk->out, &exec);
}

TEST_F(PipelineRunTest, NeedsNoInput) {
  HostInts out(10000, false);
  const gpukern_tensor to = out.tensor();
  const gpukern_exec exec = limited(5000);
  ASSERT_EQ(gpukern_pipeline_run(nullptr, 0, &to, set_to_seven, nullptr, &exec), GPUKERN_SUCCESS);
  for (std::int64_t i = 0; i < 10000; ++i) ASSERT_EQ(out[i], 7);
}

TEST_F(PipelineRunTest, AStepMayFail) {
  HostInts x(10000, false);
  HostInts out(10000, true);
  int chunks = 0;
  expect_error(map(x, x, out, limited(20000), fail_later, &chunks), GPUKERN_TYPE_ERROR,
               "saxpy: x must have one of the dtypes");
  EXPECT_EQ(chunks, 3);
}

TEST_F(PipelineRunTest, ReportsAndStopsBetweenChunks) {
  struct Reports {
    std::uint64_t done = 0;
    int left = 0;
  };
  for (const int left : {1, 2, 5, 1000}) {
    HostInts x(10000, left % 2 == 0);
    HostInts out(10000, false);
    Reports reports{0, left};
    gpukern_exec exec = limited(20000);
    exec.progress_user = &reports;
    exec.progress = [](void* user, std::uint64_t done, std::uint64_t total) -> std::int32_t {
      auto& seen = *static_cast<Reports*>(user);
      EXPECT_GT(done, seen.done);
      EXPECT_EQ(total, 40000U);
      seen.done = done;
      return --seen.left == 0 ? 1 : 0;
    };
    const gpukern_status status = map(x, x, out, exec);
    if (left == 1000) {
      EXPECT_EQ(status, GPUKERN_SUCCESS) << gpukern_last_error();
      EXPECT_EQ(reports.done, 40000U);
      continue;
    }
    expect_error(status, GPUKERN_CANCELLED, "pipeline_run: stopped by the progress callback at ");
  }
}

TEST_F(PipelineRunTest, ChecksItsArguments) {
  HostInts x(100, false);
  const gpukern_tensor good = x.tensor();
  std::int64_t three = 3;
  gpukern_tensor short_one = good;
  short_one.shape = &three;
  gpukern_tensor there = good;
  there.device = kCuda;
  gpukern_tensor stuck = good;
  std::int64_t none = 0;
  stuck.strides = &none;
  const auto run = [](const gpukern_tensor* input, const gpukern_tensor* out,
                      gpukern_device device = kCuda, gpukern_pipeline_step step = add_up) {
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.device = device;
    return gpukern_pipeline_run(&input, 1, out, step, nullptr, &exec);
  };
  expect_error(run(&short_one, &good), GPUKERN_VALUE_ERROR,
               "pipeline_run: inputs[0] must broadcast to shape (100,), got (3,)");
  expect_error(run(&good, &short_one), GPUKERN_VALUE_ERROR,
               "pipeline_run: inputs[0] must broadcast to ");
  std::int64_t quarter = std::int64_t{1} << 62;
  gpukern_tensor bytes = good;
  bytes.dtype = {GPUKERN_INT, 8, 1};
  bytes.shape = &quarter;
  gpukern_tensor number = good;
  number.ndim = 0;
  expect_error(run(&number, &bytes), GPUKERN_VALUE_ERROR,
               "pipeline_run: inputs[0] must broadcast to fewer than 2**63 bytes, got shape ");
  expect_error(run(&there, &good), GPUKERN_VALUE_ERROR,
               "pipeline_run: inputs[0] must be in host memory, got cuda:0");
  expect_error(run(&good, &there), GPUKERN_VALUE_ERROR,
               "pipeline_run: out must be in host memory, got cuda:0");
  expect_error(run(&good, &stuck), GPUKERN_VALUE_ERROR,
               "pipeline_run: out must not have overlapping elements");
  expect_error(run(nullptr, &good), GPUKERN_VALUE_ERROR,
               "pipeline_run: inputs[0] must not be NULL");
  expect_error(run(&good, nullptr), GPUKERN_VALUE_ERROR, "pipeline_run: out must not be NULL");
  expect_error(run(&good, &good, kCuda, nullptr), GPUKERN_VALUE_ERROR,
               "pipeline_run: step must not be NULL");
  expect_error(run(&good, &good, kCpu), GPUKERN_VALUE_ERROR,
               "pipeline_run: device must be a CUDA device, got cpu");
  const std::vector<const gpukern_tensor*> many(GPUKERN_PIPELINE_MAX_INPUTS + 1, &good);
  expect_error(gpukern_pipeline_run(many.data(), many.size(), &good, add_up, nullptr, nullptr),
               GPUKERN_VALUE_ERROR, "pipeline_run: there must be at most 32 inputs, got 33");
  expect_error(gpukern_pipeline_run(nullptr, 1, &good, add_up, nullptr, nullptr),
               GPUKERN_VALUE_ERROR, "pipeline_run: inputs must not be NULL");
  for (std::int64_t i = 0; i < 100; ++i) ASSERT_EQ(x[i], i);
}

TEST(PipelineRunWithoutGpuTest, IsADeviceError) {
  if (cuda_devices() > 0) GTEST_SKIP() << "there is a CUDA device";
  std::int32_t x = 1;
  const gpukern_tensor tensor{&x, kCpu, 0, kInt, nullptr, nullptr, 0};
  expect_error(gpukern_pipeline_run(nullptr, 0, &tensor, add_up, nullptr, nullptr),
               GPUKERN_DEVICE_ERROR, "there is no CUDA device: ");
}

}  // namespace
}  // namespace gpukern_test

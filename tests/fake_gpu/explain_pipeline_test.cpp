// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Explanations of calls on host arrays with a GPU, which run nothing.

#include "fake_gpu.hpp"
#include "gpukern/explain.h"
#include "support.hpp"

namespace gpukern_test {
namespace {

constexpr gpukern_dtype kFloat{GPUKERN_FLOAT, 32, 1};
constexpr gpukern_dtype kLong{GPUKERN_INT, 64, 1};
constexpr std::int64_t kCount = 100000;
constexpr std::size_t kLimit = 64 << 10;

/// Bytes that must not change; they all remain 0.
class Operand {
 public:
  Operand(gpukern_device device, gpukern_dtype dtype, std::int64_t count)
      : device_(device), dtype_(dtype), count_(count) {
    EXPECT_EQ(gpukern_allocate(device, bytes(), nullptr, &data_), GPUKERN_SUCCESS);
    if (device.device_type != GPUKERN_CUDA) std::memset(data_, 0, bytes());
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  ~Operand() {
    if (device_.device_type != GPUKERN_CUDA) {
      const auto* begin = static_cast<const char*>(data_);
      EXPECT_TRUE(std::all_of(begin, begin + bytes(), [](char byte) { return byte == 0; }));
    }
    EXPECT_EQ(gpukern_release(device_, data_, nullptr), GPUKERN_SUCCESS);
  }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(count_ * item_bytes(dtype_));
  }
  [[nodiscard]] gpukern_tensor tensor() {
    const bool cuda = device_.device_type == GPUKERN_CUDA;
    return {data_, cuda ? kCuda : kCpu, 1, dtype_, &count_, nullptr, 0};
  }

 private:
  gpukern_device device_;
  gpukern_dtype dtype_;
  std::int64_t count_;
  void* data_ = nullptr;
};

constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};

class ExplainPipelineTest : public testing::Test {
 protected:
  void SetUp() override {
    launches_ = fake_gpu().launches();
    exec_.device = kCuda;
    exec_.device_memory_limit = kLimit;
    exec_.explanation = &explanation_;
    exec_.progress = [](void*, std::uint64_t, std::uint64_t) -> std::int32_t {
      ADD_FAILURE() << "nothing makes progress";
      return 0;
    };
  }
  void TearDown() override { EXPECT_EQ(fake_gpu().launches(), launches_); }

  gpukern_status gather(Operand& source, Operand& index, Operand& out) {
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    return call_gather(&from, &at, 0, &to, gather_options(GPUKERN_INDEX_CLIP), &exec_);
  }

  gpukern_explanation explanation_ = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec_ = GPUKERN_EXEC_INIT;

 private:
  std::size_t launches_ = 0;
};

TEST_F(ExplainPipelineTest, SaxpyInChunks) {
  for (const gpukern_device device : {kCpu, kPinned}) {
    explanation_ = GPUKERN_EXPLANATION_INIT;
    Operand x(device, kFloat, kCount);
    Operand y(device, kFloat, kCount);
    const gpukern_tensor xs = x.tensor();
    const gpukern_tensor ys = y.tensor();
    const float a = 2;
    ASSERT_EQ(gpukern_saxpy(&a, &xs, &ys, &ys, &exec_), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(explanation_.device.device_type, GPUKERN_CUDA);
    EXPECT_EQ(explanation_.rule, GPUKERN_RULE_ARGUMENT);
    EXPECT_EQ(explanation_.path, GPUKERN_PATH_CONTIGUOUS);
    EXPECT_GE(explanation_.chunks, 8 * kCount / static_cast<std::int64_t>(kLimit));
    EXPECT_LE(explanation_.bytes_allocated, static_cast<std::int64_t>(kLimit));
    EXPECT_EQ(explanation_.bytes_to_device, 8 * kCount);
    EXPECT_EQ(explanation_.bytes_from_device, 4 * kCount);
    EXPECT_EQ(explanation_.threads > 0, device.device_type == GPUKERN_CPU);
  }
}

TEST_F(ExplainPipelineTest, AColumnThatDoesNotFitStaysOnTheHost) {
  Operand source(kCpu, kFloat, kCount);
  Operand index(kCpu, kLong, 100);
  Operand offsets(kCpu, kLong, 3);
  Operand out(kCpu, kFloat, 2);
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor at = index.tensor();
  const gpukern_tensor bounds = offsets.tensor();
  const gpukern_tensor to = out.tensor();
  ASSERT_EQ(gpukern_gather_reduce(&from, &at, &bounds, nullptr, 0, &to, nullptr, &exec_),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(explanation_.device.device_type, GPUKERN_CPU);
  EXPECT_EQ(explanation_.rule, GPUKERN_RULE_MEMORY);
}

/// One element in memory that is repeated, so that all sizes but the sum of the bytes are possible.
TEST_F(ExplainPipelineTest, SizesWhoseSumOverflows) {
  Operand source(kCpu, kFloat, 1);
  Operand offsets(kCpu, kLong, 2);
  Operand out(kCpu, kFloat, 1);
  std::int64_t size = std::int64_t{1} << 60;
  std::int64_t stride = 0;
  gpukern_tensor from = source.tensor();
  gpukern_tensor at = offsets.tensor();
  from.shape = at.shape = &size;
  from.strides = at.strides = &stride;
  at.dtype = {GPUKERN_INT, 8, 1};
  const gpukern_tensor bounds = offsets.tensor();
  const gpukern_tensor to = out.tensor();
  gpukern_gather_reduce_options options = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  options.mode = GPUKERN_INDEX_CLIP;
  ASSERT_EQ(gpukern_gather_reduce(&from, &at, &bounds, &from, 0, &to, &options, &exec_),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(explanation_.rule, GPUKERN_RULE_MEMORY);
  EXPECT_GT(explanation_.bytes_read, size);
}

TEST_F(ExplainPipelineTest, ASourceThatIsBarelyReadStaysOnTheHost) {
  Operand source(kCpu, kFloat, 100 * kCount);
  Operand index(kCpu, kLong, 100);
  Operand out(kCpu, kFloat, 100);
  ASSERT_EQ(gather(source, index, out), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation_.device.device_type, GPUKERN_CPU);
  EXPECT_EQ(explanation_.rule, GPUKERN_RULE_SOURCE);
  EXPECT_EQ(explanation_.path, GPUKERN_PATH_ITEMS);
  EXPECT_EQ(explanation_.threads, 1);
  EXPECT_EQ(explanation_.bytes_read, 1200);
  EXPECT_EQ(explanation_.bytes_to_device, 0);
}

TEST_F(ExplainPipelineTest, ASmallSourceIsCopied) {
  exec_.device_memory_limit = std::size_t{1} << 20;
  Operand source(kCpu, kFloat, 1000);
  Operand index(kCpu, kLong, kCount);
  Operand out(kCpu, kFloat, kCount);
  ASSERT_EQ(gather(source, index, out), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation_.device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(explanation_.bytes_to_device, 4000 + 8 * kCount);
  EXPECT_EQ(explanation_.bytes_from_device, 4 * kCount);
  EXPECT_EQ(explanation_.bytes_read, 12 * kCount);
  EXPECT_LE(explanation_.bytes_allocated, std::int64_t{1} << 20);
}

TEST_F(ExplainPipelineTest, ThePinnedSourceOfAnIndexOnTheGpuIsReadInPlace) {
  exec_.device = {GPUKERN_DEVICE_DEFAULT, 0};
  Operand source(kPinned, kFloat, 1000);
  Operand index(kCuda, kLong, kCount);
  Operand out(kCuda, kFloat, kCount);
  // With several threads, the CPU would gather a share.
  const std::int32_t before = gpukern_num_threads();
  ASSERT_EQ(gpukern_set_num_threads(1), GPUKERN_SUCCESS);
  EXPECT_EQ(gather(source, index, out), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(gpukern_set_num_threads(before), GPUKERN_SUCCESS);
  EXPECT_EQ(explanation_.device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(explanation_.rule, GPUKERN_RULE_ARRAYS);
  EXPECT_EQ(explanation_.chunks, 0);
  EXPECT_EQ(explanation_.bytes_to_device, 4 * kCount);
  EXPECT_EQ(explanation_.bytes_read, 8 * kCount);
  EXPECT_EQ(explanation_.bytes_written, 4 * kCount);
}

}  // namespace
}  // namespace gpukern_test

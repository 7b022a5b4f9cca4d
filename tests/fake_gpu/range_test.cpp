// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Profiler ranges: one for each chunk, even if it fails.

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "fake_gpu.hpp"
#include "gpukern/explain.h"
#include "gpukern/pipeline.h"
#include "support.hpp"

namespace gpukern_test {
namespace {

constexpr gpukern_dtype kFloat32{GPUKERN_FLOAT, 32, 1};
constexpr gpukern_dtype kInt64{GPUKERN_INT, 64, 1};

class RangeTest : public testing::Test {
 protected:
  RangeTest() {
    exec_.device = kCuda;
    exec_.device_memory_limit = 100000;
    fake_gpu().take_ranges();
  }
  ~RangeTest() override { EXPECT_EQ(fake_gpu().open_ranges(), 0); }

  gpukern_tensor one_dimensional(void* data, gpukern_dtype dtype) {
    return {data, kCpu, 1, dtype, &count_, nullptr, 0};
  }
  gpukern_tensor x() { return one_dimensional(x_.data(), kFloat32); }
  gpukern_tensor y() { return one_dimensional(y_.data(), kFloat32); }

  gpukern_status saxpy() {
    const float a = 2;
    const gpukern_tensor x = this->x();
    const gpukern_tensor y = this->y();
    return gpukern_saxpy(&a, &x, &y, &y, &exec_);
  }

  /// Each chunk is waited for once.
  void expect_chunks(const std::map<std::string, int>& by_name, int chunks) {
    std::map<std::string, int> expected = by_name;
    expected["wait for chunk"] = chunks;
    EXPECT_EQ(fake_gpu().take_ranges(), expected);
    EXPECT_GT(chunks, 3);
  }

  static constexpr std::int64_t kCount = 100000;
  std::int64_t count_ = kCount;
  std::vector<float> x_ = std::vector<float>(kCount, 1);
  std::vector<float> y_ = std::vector<float>(kCount, 2);
  gpukern_exec exec_ = GPUKERN_EXEC_INIT;
};

TEST_F(RangeTest, EveryChunkOfSaxpyHasARange) {
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  exec_.explanation = &explanation;
  ASSERT_EQ(saxpy(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(fake_gpu().take_ranges().empty());
  exec_.explanation = nullptr;
  ASSERT_EQ(saxpy(), GPUKERN_SUCCESS) << gpukern_last_error();
  expect_chunks({{"saxpy: chunk", explanation.chunks}}, explanation.chunks);
}

TEST_F(RangeTest, EveryChunkOfAGatherHasARange) {
  std::vector<std::int64_t> index(kCount, 7);
  exec_.device_memory_limit = std::size_t{1} << 20;
  const gpukern_tensor source = x();
  const gpukern_tensor positions = one_dimensional(index.data(), kInt64);
  const gpukern_tensor out = y();
  ASSERT_EQ(gpukern_set_num_threads(1), GPUKERN_SUCCESS);  // with many, the CPU would gather
  EXPECT_EQ(call_gather(&source, &positions, 0, &out, gather_options(GPUKERN_INDEX_CLIP), &exec_),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  ASSERT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
  std::map<std::string, int> ranges = fake_gpu().take_ranges();
  EXPECT_GT(ranges["gather: chunk"], 0);
  EXPECT_GT(ranges["source: chunk"], 0);
  EXPECT_EQ(ranges["wait for chunk"], ranges["gather: chunk"] + ranges["source: chunk"]);
}

TEST_F(RangeTest, EveryChunkOfAPipelineHasARange) {
  const gpukern_tensor input = x();
  const gpukern_tensor* const inputs[] = {&input};
  const gpukern_tensor out = y();
  int chunks = 0;
  const gpukern_pipeline_step step = [](void* count, const gpukern_pipeline_chunk*) {
    ++*static_cast<int*>(count);
    return GPUKERN_SUCCESS;
  };
  ASSERT_EQ(gpukern_pipeline_run(inputs, 1, &out, step, &chunks, &exec_), GPUKERN_SUCCESS)
      << gpukern_last_error();
  expect_chunks({{"pipeline: chunk", chunks}}, chunks);
}

TEST_F(RangeTest, AFailureEndsTheRanges) {
  fake_gpu().fail_copies_after(3);
  EXPECT_EQ(saxpy(), GPUKERN_CUDA_ERROR);
  EXPECT_EQ(fake_gpu().take_ranges()["saxpy: chunk"], 2);
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gpukern_pipeline_run() on the fake GPU: its memory use and its explanation.

#include "fake_gpu.hpp"
#include "gpukern/explain.h"
#include "pipeline_support.hpp"

namespace gpukern_test {
namespace {

TEST(PipelineRunMemoryTest, StaysInsideItsLimit) {
  for (const std::int64_t count : {1, 100, 10000, rounds(100003)})
    for (const std::size_t limit : {3072U, 100000U, 1000000U})
      for (int pinned = 0; pinned < 8; ++pinned) {
        HostInts x(count, (pinned & 1) != 0);
        HostInts y(count, (pinned & 2) != 0);
        HostInts out(count, (pinned & 4) != 0);
        fake_gpu().take_peak_bytes();
        ASSERT_EQ(map(x, y, out, limited(limit)), GPUKERN_SUCCESS) << gpukern_last_error();
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(out[i], 3 * i) << i;
        EXPECT_LE(fake_gpu().take_peak_bytes(), limit);
      }
}

TEST(PipelineRunMemoryTest, IsReleasedWhenAStepFails) {
  HostInts x(10000, false);
  HostInts out(10000, true);
  int chunks = 0;
  EXPECT_EQ(map(x, x, out, limited(20000), fail_later, &chunks), GPUKERN_TYPE_ERROR);
  EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
}

TEST(PipelineRunMemoryTest, ManyInputsShareTheMemoryOfAFew) {
  constexpr std::int64_t kCount = rounds(2 << 20);
  HostInts x(kCount, false);
  HostInts out(kCount, false);
  const gpukern_tensor xs = x.tensor();
  const gpukern_tensor to = out.tensor();
  const std::vector<const gpukern_tensor*> inputs(GPUKERN_PIPELINE_MAX_INPUTS, &xs);
  fake_gpu().take_peak_bytes();
  ASSERT_EQ(gpukern_pipeline_run(inputs.data(), inputs.size(), &to, add_up, nullptr, nullptr),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_LE(fake_gpu().take_peak_bytes(), std::size_t{144} << 20);
  for (std::int64_t i = 0; i < kCount; i += 1000) ASSERT_EQ(out[i], 33 * i) << i;
}

TEST(PipelineRunExplainTest, ExplainsTheCall) {
  HostInts x(100000, false);
  HostInts y(1, false);
  HostInts out(100000, true);
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = limited(100000);
  exec.explanation = &explanation;
  ASSERT_EQ(map(x, y, out, exec, fail_later), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.device.device_type, GPUKERN_CUDA);
  EXPECT_EQ(explanation.rule, GPUKERN_RULE_KERNEL);
  EXPECT_EQ(explanation.path, GPUKERN_PATH_CONTIGUOUS);
  EXPECT_GE(explanation.chunks, 8);
  EXPECT_GT(explanation.threads, 0);
  EXPECT_LE(explanation.bytes_allocated, 100000);
  EXPECT_EQ(explanation.bytes_to_device, 400000 + 4 * explanation.chunks);
  EXPECT_EQ(explanation.bytes_from_device, 400000);
  EXPECT_EQ(out[1], 1);
}

}  // namespace
}  // namespace gpukern_test

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Dry runs: calls that explain what they would do.

#include "gpukern/explain.h"

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "support.hpp"

namespace {

using namespace gpukern_test;

constexpr gpukern_dtype kFloat{GPUKERN_FLOAT, 32, 1};
constexpr gpukern_dtype kInt{GPUKERN_INT, 32, 1};

struct Array {
  Array(Placement placement, std::int64_t count, gpukern_dtype type)
      : memory(placement, static_cast<std::size_t>(count) * 4), dtype(type), shape{count} {}
  [[nodiscard]] gpukern_tensor tensor() {
    return {memory.data(), memory.device(), 1, dtype, shape.data(), nullptr, 0};
  }
  Memory memory;
  gpukern_dtype dtype;
  Shape shape;
};

gpukern_explanation explained_saxpy(Placement placement, std::int64_t count, gpukern_exec exec) {
  Array x(placement, count, kFloat);
  Array y(placement, count, kFloat);
  const gpukern_tensor x_tensor = x.tensor();
  const gpukern_tensor y_tensor = y.tensor();
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  exec.explanation = &explanation;
  const float a = 2;
  EXPECT_EQ(gpukern_saxpy(&a, &x_tensor, &y_tensor, &y_tensor, &exec), GPUKERN_SUCCESS)
      << gpukern_last_error();
  return explanation;
}

gpukern_explanation explained_gather(
    Placement placement, std::int64_t n, std::int64_t count, gpukern_exec exec,
    const gpukern_gather_options& options = gather_options(GPUKERN_INDEX_CLIP)) {
  Array source(placement, n, kFloat);
  Array index(placement, count, kInt);
  Array out(placement, count, kFloat);
  const gpukern_tensor source_tensor = source.tensor();
  const gpukern_tensor index_tensor = index.tensor();
  const gpukern_tensor out_tensor = out.tensor();
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  exec.explanation = &explanation;
  EXPECT_EQ(gpukern_gather(&source_tensor, &index_tensor, 0, &out_tensor, &options, &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  return explanation;
}

/// A device memory limit that small sources fit in, regardless of the environment.
gpukern_exec roomy_exec_at(Placement placement) {
  gpukern_exec exec = exec_at(placement);
  exec.device_memory_limit = std::size_t{1} << 20;
  return exec;
}

class ExplainPlacementTest : public PlacementTest {};
GPUKERN_INSTANTIATE_PLACEMENTS(ExplainPlacementTest);

TEST_P(ExplainPlacementTest, CountsBytesAndNamesTheDevice) {
  constexpr std::int64_t kCount = 1000;
  const bool across = placement() == Placement::CudaHost;
  // Most of a small source is read, so the GPU is chosen regardless of the number of CPU threads.
  for (const bool gathers : {false, true}) {
    const gpukern_exec exec = roomy_exec_at(placement());
    const gpukern_explanation explanation = gathers
                                                ? explained_gather(placement(), 100, kCount, exec)
                                                : explained_saxpy(placement(), kCount, exec);
    EXPECT_EQ(explanation.device.device_type,
              placement() == Placement::Cpu ? GPUKERN_CPU : GPUKERN_CUDA);
    EXPECT_EQ(explanation.rule,
              placement() == Placement::Cuda ? GPUKERN_RULE_ARRAYS : GPUKERN_RULE_ARGUMENT);
    EXPECT_EQ(explanation.path, gathers ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_CONTIGUOUS);
    if (across)
      EXPECT_GE(explanation.threads, 1);  // the threads fill the staging ring
    else
      EXPECT_EQ(explanation.threads, placement() == Placement::Cpu ? 1 : 0);
    EXPECT_EQ(explanation.bytes_read, 8 * kCount);
    EXPECT_EQ(explanation.bytes_written, 4 * kCount);
    EXPECT_EQ(explanation.bytes_from_device, across ? 4 * kCount : 0);
    EXPECT_EQ(explanation.chunks > 0, across);
    EXPECT_EQ(explanation.bytes_to_device > 0, across);
    EXPECT_EQ(explanation.bytes_allocated > 0, across);
  }
}

TEST(ExplainThreadsTest, ManyCoresShareLongerCallsOnly) {
  const auto threads_of = [](std::int64_t count, const gpukern_gather_options& options =
                                                     gather_options(GPUKERN_INDEX_CLIP)) {
    return explained_gather(Placement::Cpu, std::int64_t{32} << 20, count, exec_at(Placement::Cpu),
                            options)
        .threads;
  };
  EXPECT_EQ(gpukern_set_num_threads(4), GPUKERN_SUCCESS);
  EXPECT_EQ(threads_of(999), 1);
  EXPECT_EQ(threads_of(1000), 2);
  EXPECT_EQ(threads_of(1500), 3);
  // Threads that check their indices first wait for each other.
  EXPECT_EQ(threads_of(1999, gather_options(GPUKERN_INDEX_RAISE)), 1);
  EXPECT_EQ(threads_of(2000, gather_options(GPUKERN_INDEX_RAISE)), 2);
  gpukern_gather_options may_change = gather_options(GPUKERN_INDEX_RAISE);
  may_change.out_may_change = 1;
  EXPECT_EQ(threads_of(1500, may_change), 3);
  EXPECT_EQ(gpukern_set_num_threads(5), GPUKERN_SUCCESS);
  EXPECT_EQ(threads_of(1499), 1);
  EXPECT_EQ(threads_of(1500), 3);
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
}

TEST_P(ExplainPlacementTest, TouchesNoMemory) {
  Array source(placement(), 100, kFloat);
  Array index(placement(), 100, kInt);
  // Every index is out of bounds; a dry run does not read them.
  std::fill(index.memory.host.begin(), index.memory.host.end(), std::byte{0x7f});
  Array out(placement(), 100, kFloat);
  std::fill(out.memory.host.begin(), out.memory.host.end(), std::byte{0xa5});
  const Bytes before = out.memory.host;
  index.memory.commit();
  out.memory.commit();
  const gpukern_tensor source_tensor = source.tensor();
  const gpukern_tensor index_tensor = index.tensor();
  const gpukern_tensor out_tensor = out.tensor();
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = roomy_exec_at(placement());
  exec.explanation = &explanation;
  ASSERT_EQ(call_gather(&source_tensor, &index_tensor, 0, &out_tensor,
                        gather_options(GPUKERN_INDEX_RAISE), &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  ASSERT_EQ(gpukern_copy(&source_tensor, &out_tensor, &exec), GPUKERN_SUCCESS);
  ASSERT_EQ(gpukern_copy_async(&source_tensor, &out_tensor, &exec), GPUKERN_SUCCESS);
  out.memory.fetch();
  EXPECT_EQ(out.memory.host, before);
  // The index counts twice, since GPUKERN_INDEX_RAISE checks it first; the bytes of the two copies
  // are added.
  EXPECT_EQ(explanation.bytes_read, 400 * 5);
  EXPECT_EQ(explanation.bytes_written, 400 * 3);
}

TEST(ExplainTest, NamesTheRule) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  {
    const EnvironmentVariable none("GPUKERN_DEVICE", std::nullopt);
    EXPECT_EQ(explained_saxpy(Placement::Cpu, 10, exec).rule, GPUKERN_RULE_HOST);
  }
  {
    const EnvironmentVariable cpu("GPUKERN_DEVICE", "cpu");
    EXPECT_EQ(explained_saxpy(Placement::Cpu, 10, exec).rule, GPUKERN_RULE_ENVIRONMENT);
  }
  const EnvironmentVariable cuda("GPUKERN_DEVICE", "cuda");
  const gpukern_explanation explanation = explained_saxpy(Placement::Cpu, 10, exec);
  const bool gpu = cuda_devices() > 0;
  EXPECT_EQ(explanation.rule, gpu ? GPUKERN_RULE_ENVIRONMENT : GPUKERN_RULE_NO_GPU);
  EXPECT_EQ(explanation.device.device_type, gpu ? GPUKERN_CUDA : GPUKERN_CPU);
  exec.device = kCpu;
  EXPECT_EQ(explained_saxpy(Placement::Cpu, 10, exec).rule, GPUKERN_RULE_ARGUMENT);
}

TEST(ExplainTest, FollowsTheLayout) {
  Array x(Placement::Cpu, 64, kFloat);
  gpukern_tensor tensor = x.tensor();
  std::int64_t shape[] = {4, 8};
  std::int64_t strides[] = {16, 1};
  tensor.ndim = 2;
  tensor.shape = shape;
  tensor.strides = strides;
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = exec_at(Placement::Cpu);
  exec.explanation = &explanation;
  const float a = 2;
  ASSERT_EQ(gpukern_saxpy(&a, &tensor, &tensor, &tensor, &exec), GPUKERN_SUCCESS);
  EXPECT_EQ(explanation.path, GPUKERN_PATH_STRIDED);
  Array index(Placement::Cpu, 4, kInt);
  const gpukern_tensor index_tensor = index.tensor();
  const gpukern_tensor out = tensor;
  ASSERT_EQ(call_gather(&tensor, &index_tensor, 0, &out, gather_options(GPUKERN_INDEX_CLIP), &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(explanation.path, GPUKERN_PATH_ROWS);
}

TEST(ExplainTest, LargeGathersFromBeyondTheCacheArePartitioned) {
  gpukern_device_info info{};
  info.struct_size = sizeof info;
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  ASSERT_EQ(gpukern_device_query(0, &info), GPUKERN_SUCCESS);
  if (info.compute_capability_major != 9) GTEST_SKIP() << "no GPU of compute capability 9.0";
  constexpr std::int64_t kMany = std::int64_t{128} << 20;
  // Nothing is read or written, so any address is valid.
  alignas(256) std::byte nowhere[256];
  std::int64_t many = kMany;
  std::int64_t few = 1000;
  gpukern_tensor source{nowhere, kCuda, 1, kFloat, &many, nullptr, 0};
  gpukern_tensor index{nowhere, kCuda, 1, kInt, &many, nullptr, 0};
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  for (const bool partitioned : {true, false}) {
    gpukern_gather_options options = gather_options(GPUKERN_INDEX_CLIP);
    if (!partitioned) options.path = GPUKERN_GATHER_DIRECT;
    gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
    exec.explanation = &explanation;
    gpukern_tensor out = source;
    ASSERT_EQ(gpukern_gather(&source, &index, 0, &out, &options, &exec), GPUKERN_SUCCESS)
        << gpukern_last_error();
    EXPECT_EQ(explanation.path, partitioned ? GPUKERN_PATH_PARTITIONED : GPUKERN_PATH_ITEMS);
  }
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  exec.explanation = &explanation;
  index.shape = &few;
  gpukern_tensor out = index;
  out.dtype = kFloat;
  ASSERT_EQ(call_gather(&source, &index, 0, &out, gather_options(GPUKERN_INDEX_CLIP), &exec),
            GPUKERN_SUCCESS);
  EXPECT_EQ(explanation.path, GPUKERN_PATH_ITEMS);
}

TEST(ExplainTest, CountsNoMoreThanTheLargestNumber) {
  float one = 0;
  std::int64_t size = std::int64_t{1} << 60;  // 2^62 bytes
  const gpukern_tensor x{&one, kCpu, 1, kFloat, &size, nullptr, 0};
  gpukern_tensor apart = x;
  apart.byte_offset = std::uint64_t{1} << 62;
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.explanation = &explanation;
  for (int k = 0; k < 5; ++k) {
    ASSERT_EQ(gpukern_saxpy(&one, &x, &x, &apart, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
    ASSERT_EQ(gpukern_copy(&x, &apart, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
  }
  EXPECT_EQ(explanation.bytes_read, INT64_MAX);
  EXPECT_EQ(explanation.bytes_written, INT64_MAX);
}

// A pointer that wraps around would be undefined behaviour: extents are computed as integers.
TEST(ExplainTest, ArraysMayReachTheEndOfTheAddressSpace) {
  float one = 0;
  std::int64_t size = std::int64_t{1} << 60;
  const gpukern_tensor x{&one, kCpu, 1, kFloat, &size, nullptr, 0};
  gpukern_tensor last = x;
  last.byte_offset = std::uint64_t{UINT64_MAX} - reinterpret_cast<std::uintptr_t>(&one) - 3;
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.explanation = &explanation;
  EXPECT_EQ(gpukern_saxpy(&one, &x, &x, &last, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
}

TEST(ExplainTest, ArgumentsAreChecked) {
  Array x(Placement::Cpu, 10, kFloat);
  Array y(Placement::Cpu, 11, kFloat);
  const gpukern_tensor x_tensor = x.tensor();
  const gpukern_tensor y_tensor = y.tensor();
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.explanation = &explanation;
  const float a = 2;
  EXPECT_EQ(gpukern_saxpy(&a, &x_tensor, &y_tensor, &x_tensor, &exec), GPUKERN_VALUE_ERROR);
  EXPECT_EQ(explanation.rule, GPUKERN_RULE_NONE);
  explanation.struct_size = 8;
  EXPECT_EQ(gpukern_saxpy(&a, &x_tensor, &x_tensor, &x_tensor, &exec), GPUKERN_VALUE_ERROR);
  EXPECT_NE(std::string(gpukern_last_error()).find("explanation must have struct_size"),
            std::string::npos);
}

}  // namespace

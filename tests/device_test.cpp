// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Device queries, and what decides where a call runs.

#include <cstdlib>
#include <limits>

#include "gpukern/pipeline.h"
#include "support.hpp"

namespace gpukern_test {
namespace {

gpukern_cuda_info query_cuda() {
  gpukern_cuda_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(gpukern_cuda_query(&info), GPUKERN_SUCCESS) << gpukern_last_error();
  return info;
}

/// Adds two floats, on the host's memory, where `exec` says.
gpukern_status run_saxpy(const gpukern_exec* exec) {
  const Array x(Place::Cpu, {GPUKERN_FLOAT, 32, 1}, {8});
  const gpukern_tensor tensor = x.tensor();
  const float a = 2;
  return gpukern_saxpy(&a, &tensor, &tensor, &tensor, exec);
}

TEST(DeviceTest, QueriesAgree) {
  const gpukern_cuda_info info = query_cuda();
  EXPECT_EQ(info.device_count, cuda_devices());
  EXPECT_EQ(info.reason[0] == '\0', info.device_count > 0) << info.reason;
  if (info.device_count > 0) {
    EXPECT_EQ(info.built, 1);
    EXPECT_GE(info.driver_version, info.runtime_version / 1000 * 1000);
  }
  EXPECT_EQ(info.runtime_version > 0, info.built == 1);
}

TEST(DeviceTest, EachDeviceIsDescribed) {
  const int count = cuda_devices();
  if (count == 0) GTEST_SKIP() << "no CUDA device";
  for (int id = 0; id < count; ++id) {
    gpukern_device_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(gpukern_device_query(id, &info), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_GT(std::strlen(info.name), 0U);
    EXPECT_GE(info.compute_capability_major, 7);
    EXPECT_GT(info.multiprocessor_count, 0);
    EXPECT_GT(info.l2_cache_bytes, 0);
    EXPECT_GT(info.total_memory_bytes, 1U << 28);
  }
}

TEST(DeviceTest, OthersAreRefused) {
  gpukern_device_info info{};
  info.struct_size = sizeof info;
  for (const int id : {-1, cuda_devices(), std::numeric_limits<int>::max()})
    EXPECT_EQ(gpukern_device_query(id, &info), GPUKERN_DEVICE_ERROR) << id;
}

TEST(DeviceTest, StructsOfTheWrongSizeAreRefused) {
  gpukern_device_info device{};
  expect_error(gpukern_device_query(0, &device), GPUKERN_VALUE_ERROR, "device_query: ");
  expect_error(gpukern_device_query(0, nullptr), GPUKERN_VALUE_ERROR, "device_query: ");
  gpukern_cuda_info cuda{};
  expect_error(gpukern_cuda_query(&cuda), GPUKERN_VALUE_ERROR, "cuda_query: ");
  expect_error(gpukern_cuda_query(nullptr), GPUKERN_VALUE_ERROR, "cuda_query: ");
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.struct_size = 0;
  EXPECT_EQ(run_saxpy(&exec), GPUKERN_VALUE_ERROR);
}

TEST(ExecTest, DefaultsToTheCpu) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  EXPECT_EQ(run_saxpy(nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(run_saxpy(&exec), GPUKERN_SUCCESS) << gpukern_last_error();
  exec.device.device_type = GPUKERN_CUDA_HOST;
  EXPECT_EQ(run_saxpy(&exec), GPUKERN_SUCCESS) << gpukern_last_error();
}

TEST(ExecTest, DevicesThatAreNotThereAreRefused) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  for (const int id : {-1, cuda_devices()}) {
    exec.device = {GPUKERN_CUDA, id};
    EXPECT_EQ(run_saxpy(&exec), GPUKERN_DEVICE_ERROR) << gpukern_last_error();
  }
  exec.device = {4, 0};
  expect_error(run_saxpy(&exec), GPUKERN_VALUE_ERROR, "saxpy: device ");
}

TEST(ExecTest, HostAndDeviceTensorsDoNotMix) {
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  const Array host(Place::Cpu, {GPUKERN_FLOAT, 32, 1}, {8});
  const Array device(Place::Cuda, {GPUKERN_FLOAT, 32, 1}, {8});
  const gpukern_tensor x = device.tensor();
  const gpukern_tensor y = host.tensor();
  const float a = 2;
  expect_error(gpukern_saxpy(&a, &x, &y, &x, nullptr), GPUKERN_VALUE_ERROR, "saxpy: y ");
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device = kCpu;
  expect_error(gpukern_saxpy(&a, &x, &x, &x, &exec), GPUKERN_VALUE_ERROR, "saxpy: device ");
}

/// Sets $GPUKERN_DEVICE for one test.
class DeviceVariableTest : public testing::Test {
 protected:
  void TearDown() override {
    if (had_) {
      setenv("GPUKERN_DEVICE", before_.c_str(), 1);
    } else {
      unsetenv("GPUKERN_DEVICE");
    }
  }

 private:
  const bool had_ = std::getenv("GPUKERN_DEVICE") != nullptr;
  const std::string before_ = had_ ? std::getenv("GPUKERN_DEVICE") : "";
};

TEST_F(DeviceVariableTest, IsHeard) {
  // "cuda" is a wish: without a GPU the call runs on the CPU.
  for (const char* name : {"cpu", "cuda", ""}) {
    setenv("GPUKERN_DEVICE", name, 1);
    EXPECT_EQ(run_saxpy(nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }
}

TEST_F(DeviceVariableTest, MustNameADevice) {
  setenv("GPUKERN_DEVICE", "abacus", 1);
  expect_error(run_saxpy(nullptr), GPUKERN_VALUE_ERROR,
               "GPUKERN_DEVICE must be cpu or cuda, got abacus");
  const auto step = [](void* /*user*/, const gpukern_pipeline_chunk* /*chunk*/) {
    return GPUKERN_SUCCESS;
  };
  float x = 0;
  const gpukern_tensor out{&x, kCpu, 0, {GPUKERN_FLOAT, 32, 1}, nullptr, nullptr, 0};
  expect_error(gpukern_pipeline_run(nullptr, 0, &out, step, nullptr, nullptr), GPUKERN_VALUE_ERROR,
               "GPUKERN_DEVICE must be cpu or cuda, got abacus");
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device = kCpu;
  EXPECT_EQ(run_saxpy(&exec), GPUKERN_SUCCESS) << gpukern_last_error();
}

}  // namespace
}  // namespace gpukern_test

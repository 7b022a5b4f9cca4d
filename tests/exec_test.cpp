// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The choice of the device: the pointer, gpukern_exec and $GPUKERN_DEVICE.

#include <cstdlib>
#include <string>

#include "gpukern/pipeline.h"
#include "support.hpp"

namespace gpukern_test {
namespace {

/// Adds two floats in host memory on the device of `exec`.
gpukern_status run_saxpy(const gpukern_exec* exec) {
  const Array x(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {8});
  const gpukern_tensor tensor = x.tensor();
  const float a = 2;
  return gpukern_saxpy(&a, &tensor, &tensor, &tensor, exec);
}

TEST(PointerTest, HostPointersAreCpuMemory) {
  int here = 0;
  gpukern_device device{};
  for (const void* data : {static_cast<const void*>(&here), static_cast<const void*>(nullptr)}) {
    EXPECT_EQ(gpukern_pointer_device(data, &device), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(device.device_type, GPUKERN_CPU);
  }
  expect_error(gpukern_pointer_device(&here, nullptr), GPUKERN_VALUE_ERROR, "pointer_device: ");
}

TEST(ExecTest, AStructOfTheWrongSizeIsRefused) {
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
  const Array host(Placement::Cpu, {GPUKERN_FLOAT, 32, 1}, {8});
  const Array device(Placement::Cuda, {GPUKERN_FLOAT, 32, 1}, {8});
  const gpukern_tensor x = device.tensor();
  const gpukern_tensor y = host.tensor();
  const float a = 2;
  expect_error(gpukern_saxpy(&a, &x, &y, &x, nullptr), GPUKERN_VALUE_ERROR, "saxpy: y ");
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device = kCpu;
  expect_error(gpukern_saxpy(&a, &x, &x, &x, &exec), GPUKERN_VALUE_ERROR, "saxpy: device ");
}

TEST(DeviceVariableTest, IsRead) {
  // Without a GPU, "cuda" means the CPU.
  for (const char* name : {"cpu", "cuda", ""}) {
    const EnvironmentVariable variable("GPUKERN_DEVICE", name);
    EXPECT_EQ(run_saxpy(nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }
}

// Calls do not read the environment, which another thread may be changing.
TEST(DeviceVariableTest, IsASnapshot) {
  const EnvironmentVariable variable("GPUKERN_DEVICE", "cpu");
  setenv("GPUKERN_DEVICE", "abacus", 1);
  EXPECT_EQ(run_saxpy(nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(gpukern_reload_environment(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(run_saxpy(nullptr), GPUKERN_VALUE_ERROR);
}

TEST(DeviceVariableTest, MustNameADevice) {
  const EnvironmentVariable variable("GPUKERN_DEVICE", "abacus");
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

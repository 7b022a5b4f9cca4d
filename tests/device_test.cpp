// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Device queries.

#include <limits>

#include "support.hpp"

namespace gpukern_test {
namespace {

gpukern_cuda_info query_cuda() {
  gpukern_cuda_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(gpukern_cuda_query(&info), GPUKERN_SUCCESS) << gpukern_last_error();
  return info;
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

TEST(DeviceTest, UnknownDevicesAreRefused) {
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
}

}  // namespace
}  // namespace gpukern_test

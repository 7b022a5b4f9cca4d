// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The caller's current device and context, and the second device.

#include <functional>
#include <thread>

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = 1000;

/// Calls every function that a program may call once on a device, failing calls included.
void call_everything(int device) {
  const gpukern_device where{GPUKERN_CUDA, device};
  const DeviceMemory<int> source(kCount, nullptr, device);
  const DeviceMemory<int> index(kCount, nullptr, device);
  const DeviceMemory<int> out(kCount, nullptr, device);
  std::vector<int> host(kCount, 5);
  std::int64_t count = kCount;
  const gpukern_tensor on_host{host.data(), kCpu, 1, {GPUKERN_INT, 32, 1}, &count, nullptr, 0};
  for (const auto* memory : {&source, &index}) {
    const gpukern_tensor there = memory->tensor();
    EXPECT_EQ(gpukern_copy(&on_host, &there, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }
  gather(source, index, out, GPUKERN_INDEX_RAISE, nullptr);
  gather(source, index, out, GPUKERN_INDEX_CLIP, nullptr);
  const gpukern_tensor result = out.tensor();
  EXPECT_EQ(gpukern_copy(&result, &on_host, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(host, std::vector<int>(kCount, 5));
  gpukern_device found{};
  EXPECT_EQ(gpukern_pointer_device(out.data(), &found), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(found.device_id, device);
  EXPECT_EQ(gpukern_synchronize(where, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(gpukern_stream_wait(where, nullptr, nullptr), GPUKERN_SUCCESS);
  host.assign(kCount, 1 << 30);
  const gpukern_tensor indices = index.tensor();
  EXPECT_EQ(gpukern_copy(&on_host, &indices, nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(try_gather(source, index, out, GPUKERN_INDEX_RAISE, nullptr), GPUKERN_INDEX_ERROR);
  void* data = nullptr;
  EXPECT_EQ(gpukern_allocate(where, std::size_t{1} << 60, nullptr, &data), GPUKERN_MEMORY_ERROR);
}

void on_a_fresh_thread(const std::function<void()>& body) { std::thread(body).join(); }

class ContextTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (cuda_devices() <= GetParam()) GTEST_SKIP() << "no CUDA device " << GetParam();
  }
};

TEST_P(ContextTest, AThreadWithoutAContextKeepsNone) {
  on_a_fresh_thread([] {
    EXPECT_EQ(current_context(), nullptr);
    call_everything(GetParam());
    EXPECT_EQ(current_context(), nullptr);
  });
}

TEST_P(ContextTest, TheCallersContextIsPreserved) {
  on_a_fresh_thread([] {
    void* own = nullptr;
    cuda("cuCtxCreate_v2", &own, 0U, 0);
    call_everything(GetParam());
    EXPECT_EQ(current_context(), own);
    cuda("cuCtxDestroy_v2", own);
  });
}

TEST_P(ContextTest, ThePrimaryContextIsPreserved) {
  on_a_fresh_thread([] {
    const OnDevice first(0);
    void* const before = current_context();
    call_everything(GetParam());
    EXPECT_EQ(current_context(), before);
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, ContextTest, testing::Values(0, 1));

// Its name makes it run first, while the process has not used CUDA yet.
using SecondDeviceDeathTest = testing::Test;

TEST_F(SecondDeviceDeathTest, NoContextIsCreatedOnTheFirst) {
  if (cuda_devices() < 2) GTEST_SKIP() << "no second CUDA device";
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // a new process, not a fork
  EXPECT_EXIT(
      {
        call_everything(1);
        unsigned flags = 0;
        int active = 1;
        cuda("cuDevicePrimaryCtxGetState", 0, &flags, &active);
        std::exit(testing::Test::HasFailure() || active != 0 ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(SecondDeviceTest, StreamsOfTheFirstAreRefused) {
  if (cuda_devices() < 2) GTEST_SKIP() << "no second CUDA device";
  const OnDevice first(0);
  const StreamHandle stream;
  const DeviceMemory<int> source(kCount, nullptr, 1);
  const DeviceMemory<int> index(kCount, nullptr, 1);
  const DeviceMemory<int> out(kCount, nullptr, 1);
  for (const gpukern_index_mode mode : {GPUKERN_INDEX_CLIP, GPUKERN_INDEX_RAISE})
    EXPECT_EQ(try_gather(source, index, out, mode, stream), GPUKERN_VALUE_ERROR);
  gather(source, index, out, GPUKERN_INDEX_CLIP, nullptr);
}

}  // namespace
}  // namespace gpukern_test

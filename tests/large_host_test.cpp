// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// 60 GiB of host memory through 2 GiB of GPU memory: saxpy of three arrays of 20 GiB, and a gather
// whose source is all of them; half as much on machines with less memory. Takes a minute, so it
// runs only if GPUKERN_TEST_LARGE=1 is set.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr std::size_t kLimit = std::size_t{2} << 30;
/// GPU memory for kernels that are loaded during the test, and the granularity of memory pools.
constexpr std::size_t kSlack = std::size_t{256} << 20;
constexpr gpukern_dtype kFloat32{GPUKERN_FLOAT, 32, 1};
constexpr gpukern_dtype kInt64{GPUKERN_INT, 64, 1};

/// The number after a name in a file, or the first one in the file; the largest int64 without one.
std::int64_t number_in(const char* path, const std::string& name = "") {
  std::ifstream file(path);
  std::string word;
  while (!name.empty() && file >> word && word != name) {
  }
  std::int64_t number = 0;
  return file >> number ? number : std::numeric_limits<std::int64_t>::max();
}

std::int64_t available_bytes() {
  const std::int64_t kibibytes = number_in("/proc/meminfo", "MemAvailable:");
  const std::int64_t of_group = number_in("/sys/fs/cgroup/memory.max");
  return std::min(kibibytes, of_group / 1024) * 1024;
}

std::size_t free_on_device() {
  std::size_t free = 0;
  std::size_t total = 0;
  cuda("cuMemGetInfo_v2", &free, &total);
  return free;
}

/// Runs body(begin, end) for the parts of [0, count), each in a thread.
template <class Body>
void in_parts(std::int64_t count, const Body& body) {
  const auto threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> running;
  running.reserve(static_cast<std::size_t>(threads));
  for (std::int64_t k = 0; k < threads; ++k)
    running.emplace_back([&, k] { body(count * k / threads, count * (k + 1) / threads); });
  for (std::thread& thread : running) thread.join();
}

/// The value at a position of x and y, of 16 bits, so that 2 * x + y is exact.
float x_at(std::int64_t i) {
  return static_cast<float>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 48U);
}
float y_at(std::int64_t i) { return static_cast<float>(i & 0xffff); }

class HostLargeTest : public GpuTest, public testing::WithParamInterface<gpukern_device_type> {
 protected:
  void SetUp() override {
    const char* large = std::getenv("GPUKERN_TEST_LARGE");
    if (large == nullptr || std::string(large) != "1")
      GTEST_SKIP() << "takes 30 or 60 GiB of host memory: set GPUKERN_TEST_LARGE=1";
    GpuTest::SetUp();
    if (IsSkipped()) return;
    const std::int64_t room = available_bytes();
    if (room < 40 * kGi) GTEST_SKIP() << "too little host memory: " << room / kGi << " GiB";
    count_ = (room < 75 * kGi ? 10 : 20) * kGi / 4;
    ASSERT_EQ(gpukern_allocate(device_, static_cast<std::size_t>(3 * count_) * 4, nullptr, &data_),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    in_parts(count_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        floats()[i] = x_at(i);
        floats()[count_ + i] = y_at(i);
      }
    });
    exec_.device = kCuda;
    exec_.device_memory_limit = kLimit;
    exec_.progress = [](void* user, std::uint64_t, std::uint64_t) {
      auto& least = *static_cast<std::size_t*>(user);
      least = std::min(least, free_on_device());
      return 0;
    };
    exec_.progress_user = &least_free_;
  }
  void TearDown() override { EXPECT_EQ(gpukern_release(device_, data_, nullptr), GPUKERN_SUCCESS); }

  [[nodiscard]] float* floats() const { return static_cast<float*>(data_); }

  [[nodiscard]] static gpukern_tensor tensor(void* data, gpukern_dtype dtype,
                                             const std::int64_t& count) {
    return {data, kCpu, 1, dtype, const_cast<std::int64_t*>(&count), nullptr, 0};
  }

  template <class Call>
  void expect_within_limit(const Call& call) {
    const std::size_t before = free_on_device();
    least_free_ = before;
    ASSERT_EQ(call(), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_LE(before - least_free_, kLimit + kSlack);
  }

  const gpukern_device device_{GetParam(), 0};
  std::int64_t count_ = 0;  ///< of each of the three arrays, which are contiguous
  void* data_ = nullptr;
  std::size_t least_free_ = 0;
  gpukern_exec exec_ = GPUKERN_EXEC_INIT;
};

TEST_P(HostLargeTest, SaxpyAndGatherInsideTwoGibibytes) {
  const gpukern_tensor x = tensor(floats(), kFloat32, count_);
  const gpukern_tensor y = tensor(floats() + count_, kFloat32, count_);
  const gpukern_tensor out = tensor(floats() + 2 * count_, kFloat32, count_);
  const float a = 2;
  expect_within_limit([&] { return gpukern_saxpy(&a, &x, &y, &out, &exec_); });
  std::atomic<std::int64_t> wrong{0};
  in_parts(count_, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      if (floats()[2 * count_ + i] != 2 * x_at(i) + y_at(i)) ++wrong;
  });
  EXPECT_EQ(wrong.load(), 0);

  const std::int64_t all = 3 * count_;
  const std::int64_t many = std::int64_t{1} << 24;
  std::vector<std::int64_t> index(many);
  std::vector<float> picked(many);
  Random random(std::random_device{}());
  for (std::int64_t& i : index) i = between(random, -all, all - 1);
  index.front() = all - 1;
  index.back() = -all;
  const gpukern_tensor source = tensor(floats(), kFloat32, all);
  const gpukern_tensor positions = tensor(index.data(), kInt64, many);
  const gpukern_tensor to = tensor(picked.data(), kFloat32, many);
  expect_within_limit([&] {
    return call_gather(&source, &positions, 0, &to, gather_options(GPUKERN_INDEX_RAISE), &exec_);
  });
  for (std::int64_t k = 0; k < many; ++k)
    ASSERT_EQ(picked[k], floats()[index[k] < 0 ? index[k] + all : index[k]]) << k;
}

INSTANTIATE_TEST_SUITE_P(Memory, HostLargeTest, testing::Values(GPUKERN_CPU, GPUKERN_CUDA_HOST),
                         [](const testing::TestParamInfo<gpukern_device_type>& parameter) {
                           return parameter.param == GPUKERN_CPU ? "pageable" : "pinned";
                         });

}  // namespace
}  // namespace gpukern_test

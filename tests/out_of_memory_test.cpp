// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A GPU whose memory is full: the pool gives back what it keeps, calls fail with a status, and the
// next ones work.
#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class OutOfMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
  ~OutOfMemoryTest() override { release_all(); }

  gpukern_status allocate(std::size_t bytes) {
    void* data = nullptr;
    const gpukern_status status = gpukern_allocate(kCuda, bytes, nullptr, &data);
    if (data != nullptr) held_.push_back(data);
    return status;
  }
  void fill(std::size_t piece) {
    gpukern_status status = GPUKERN_SUCCESS;
    while (status == GPUKERN_SUCCESS) status = allocate(piece);
    expect_error(status, GPUKERN_MEMORY_ERROR, "cuda:0 is out of memory");
  }
  void release_all() {
    for (void* data : held_) EXPECT_EQ(gpukern_release(kCuda, data, nullptr), GPUKERN_SUCCESS);
    if (!held_.empty()) static_cast<void>(gpukern_synchronize(kCuda, nullptr));
    held_.clear();
  }

  std::vector<void*> held_;
};

TEST_F(OutOfMemoryTest, TheNextCallsWork) {
  for (int round = 0; round < 2; ++round) {
    fill(256 * kMiB);
    EXPECT_GT(held_.size(), 1U);
    for (int again = 0; again < 3; ++again) EXPECT_EQ(allocate(256 * kMiB), GPUKERN_MEMORY_ERROR);
    EXPECT_EQ(gpukern_release(kCuda, held_.back(), nullptr), GPUKERN_SUCCESS);
    held_.pop_back();
    EXPECT_EQ(allocate(256 * kMiB), GPUKERN_SUCCESS) << gpukern_last_error();
    release_all();
  }
}

TEST_F(OutOfMemoryTest, ALargeBlockAfterManySmallOnes) {
  fill(64 * kMiB);
  const std::size_t all = held_.size() * 64 * kMiB;
  release_all();  // the pool keeps some of these small pieces
  EXPECT_EQ(allocate(all / 100 * 98), GPUKERN_SUCCESS) << gpukern_last_error();
}

}  // namespace
}  // namespace gpukern_test

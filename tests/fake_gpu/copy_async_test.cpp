// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Asynchronous copies on the fake GPU: nothing has run when they return.

#include "fake_gpu.hpp"
#include "support.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = 1000;

/// int32 memory of a device.
class Numbers {
 public:
  explicit Numbers(gpukern_device device) : device_(device) {
    EXPECT_EQ(gpukern_allocate(device, kCount * 4, nullptr, &data_), GPUKERN_SUCCESS);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() { EXPECT_EQ(gpukern_release(device_, data_, nullptr), GPUKERN_SUCCESS); }

  [[nodiscard]] std::int32_t& operator[](std::int64_t i) {
    return static_cast<std::int32_t*>(data_)[i];
  }
  void fill(std::int32_t first) {
    for (std::int64_t i = 0; i < kCount; ++i) (*this)[i] = first + static_cast<std::int32_t>(i);
  }
  /// Every other element of a larger tensor, or all of them.
  [[nodiscard]] gpukern_tensor tensor(bool strided = false) const {
    return {data_,
            device_,
            1,
            {GPUKERN_INT, 32, 1},
            const_cast<std::int64_t*>(strided ? &kHalf : &kAll),
            const_cast<std::int64_t*>(strided ? &kTwo : &kOne),
            0};
  }

 private:
  static constexpr std::int64_t kAll = kCount, kHalf = kCount / 2, kOne = 1, kTwo = 2;
  gpukern_device device_;
  void* data_ = nullptr;
};

constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};

gpukern_status copy_async(const gpukern_tensor& source, const gpukern_tensor& destination) {
  return gpukern_copy_async(&source, &destination, nullptr);
}

TEST(CopyAsyncOrderTest, RunsInTheOrderOfTheStreamAndNotBefore) {
  Numbers x(kPinned);
  Numbers out(kPinned);
  const Numbers first(kCuda);
  const Numbers second(kCuda);
  x.fill(7);
  out.fill(-5000);
  const std::size_t before = fake_gpu().waiting();
  ASSERT_EQ(copy_async(x.tensor(), first.tensor()), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(copy_async(first.tensor(), second.tensor()), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(copy_async(second.tensor(), out.tensor()), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_GE(fake_gpu().waiting(), before + 3);
  EXPECT_EQ(out[0], -5000);
  x.fill(9);  // a caller must not do this: it shows when the copy runs
  ASSERT_EQ(gpukern_synchronize(kCuda, nullptr), GPUKERN_SUCCESS);
  for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], 9 + i);
}

TEST(CopyAsyncOrderTest, StridedDeviceMemoryUsesScratchMemory) {
  Numbers x(kPinned);
  Numbers out(kPinned);
  const Numbers there(kCuda);
  const std::size_t before = fake_gpu().bytes_in_use();
  x.fill(1);
  out.fill(-1);
  gpukern_tensor half = x.tensor();
  std::int64_t size = kCount / 2;
  half.shape = &size;
  gpukern_tensor back = out.tensor();
  back.shape = &size;
  ASSERT_EQ(copy_async(half, there.tensor(true)), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(copy_async(there.tensor(true), back), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(fake_gpu().bytes_in_use(), before);
  ASSERT_EQ(gpukern_synchronize(kCuda, nullptr), GPUKERN_SUCCESS);
  for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(out[i], 1 + i);
  EXPECT_EQ(out[size], -1 + size);
}

}  // namespace
}  // namespace gpukern_test

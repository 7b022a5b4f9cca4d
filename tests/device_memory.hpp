// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// One-dimensional arrays on a GPU, and the operations on them, for the tests of streams and graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda_driver.hpp"
#include "support.hpp"

namespace gpukern_test {

/// A test with the primary context of the first GPU; skipped without a GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
    context_.emplace();
  }

 private:
  std::optional<OnDevice> context_;
};

/// int32 or float memory of a device, allocated and released in stream order.
template <class T>
class DeviceMemory {
 public:
  explicit DeviceMemory(std::int64_t count, void* stream = nullptr, int device = 0)
      : count_(count), device_{GPUKERN_CUDA, device}, exec_(GPUKERN_EXEC_INIT) {
    exec_.stream = stream;
    void* data = nullptr;
    EXPECT_EQ(gpukern_allocate(device_, bytes(), &exec_, &data), GPUKERN_SUCCESS)
        << gpukern_last_error();
    data_ = static_cast<T*>(data);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    EXPECT_EQ(gpukern_release(device_, data_, &exec_), GPUKERN_SUCCESS) << gpukern_last_error();
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  [[nodiscard]] gpukern_tensor tensor() const {
    const std::uint8_t code = std::is_same_v<T, float> ? GPUKERN_FLOAT : GPUKERN_INT;
    return {data_, device_, 1, {code, 32, 1}, const_cast<std::int64_t*>(&count_), nullptr, 0};
  }
  /// The contents; waits for all work of the stream and of the legacy stream.
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> host(static_cast<std::size_t>(count_));
    read_back(host.data(), data_, bytes());
    return host;
  }
  void write(const std::vector<T>& host) const {
    cuda("cuMemcpyHtoD_v2", reinterpret_cast<Address>(data_), static_cast<const void*>(host.data()),
         bytes());
  }

 private:
  std::int64_t count_;
  gpukern_device device_;
  gpukern_exec exec_;
  T* data_ = nullptr;
};

template <class T>
gpukern_status try_gather(const DeviceMemory<T>& source, const DeviceMemory<int>& index,
                          const DeviceMemory<T>& out, gpukern_index_mode mode, void* stream) {
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor at = index.tensor();
  const gpukern_tensor to = out.tensor();
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.stream = stream;
  return call_gather(&from, &at, 0, &to, gather_options(mode), &exec);
}

template <class T>
void gather(const DeviceMemory<T>& source, const DeviceMemory<int>& index,
            const DeviceMemory<T>& out, gpukern_index_mode mode, void* stream) {
  EXPECT_EQ(try_gather(source, index, out, mode, stream), GPUKERN_SUCCESS) << gpukern_last_error();
}

inline void saxpy(float a, const DeviceMemory<float>& x, const DeviceMemory<float>& y,
                  const DeviceMemory<float>& out, void* stream) {
  const gpukern_tensor left = x.tensor();
  const gpukern_tensor right = y.tensor();
  const gpukern_tensor to = out.tensor();
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.stream = stream;
  EXPECT_EQ(gpukern_saxpy(&a, &left, &right, &to, &exec), GPUKERN_SUCCESS) << gpukern_last_error();
}

}  // namespace gpukern_test

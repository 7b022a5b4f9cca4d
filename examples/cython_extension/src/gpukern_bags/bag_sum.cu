// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include <algorithm>

#include "bag_sum.h"

namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = int64_t{1} << 20;  // beyond, each thread takes several items

// One thread per item of the result; neighbours in a warp read neighbours in the table.
__global__ void __launch_bounds__(kThreads) bag_sum_kernel(const bag_sum_args args) {
  const int64_t items = args.bags * args.width;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t item = int64_t{blockIdx.x} * kThreads + threadIdx.x; item < items; item += step) {
    const int64_t bag = item / args.width;
    const int64_t column = item - bag * args.width;
    float sum = 0;
    for (int64_t k = 0; k < args.bag_size; ++k) {
      int64_t row = args.index[bag * args.bag_size + k] % args.rows;
      row += row < 0 ? args.rows : 0;  // inside the table for any index
      sum += args.table[row * args.width + column];
    }
    args.sums[item] = sum;
  }
}

// Makes a device current, and restores the previous one.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device_id) {
    error_ = cudaGetDevice(&before_);
    if (error_ == cudaSuccess && before_ != device_id) {
      error_ = cudaSetDevice(device_id);
      changed_ = error_ == cudaSuccess;
    }
  }
  ~DeviceGuard() {
    if (changed_) {
      cudaSetDevice(before_);
    }
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  cudaError_t error() const { return error_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaError_t error_;
};

// Clears CUDA's last error, so that no later call of this thread reports it.
const char* words(cudaError_t error) {
  if (error == cudaSuccess) {
    return nullptr;
  }
  (void)cudaGetLastError();
  return cudaGetErrorString(error);
}

}  // namespace

const char* bag_sum_enqueue(const bag_sum_args* args, int device_id, void* stream) {
  const int64_t items = args->bags * args->width;
  if (items == 0) {
    return nullptr;  // CUDA rejects a launch without blocks
  }
  const DeviceGuard guard(device_id);
  if (guard.error() != cudaSuccess) {
    return words(guard.error());
  }
  const int64_t blocks = std::min((items + kThreads - 1) / kThreads, kMaxBlocks);
  void* parameters[] = {const_cast<bag_sum_args*>(args)};
  return words(cudaLaunchKernel(bag_sum_kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
                                parameters, 0, static_cast<cudaStream_t>(stream)));
}

const char* bag_sum_device_of(const void* address, int32_t* device_id) {
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, address);
  *device_id = attributes.device;
  return words(error);
}

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// CUDA's errors as exceptions.
#pragma once

#include <cuda_runtime.h>

#include "../src/error.hpp"

namespace gpukern::gpu {

/// Throws for an error of `call` ("cudaMemcpyAsync"). Clears it first: an error that is reported
/// here must not be found again by the next library that asks for the last one.
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  const bool memory = error == cudaErrorMemoryAllocation;
  fail(memory ? GPUKERN_MEMORY_ERROR : GPUKERN_CUDA_ERROR, call,
       " failed: ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")");
}

/// Makes a device current, and the caller's device again at the end.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    changed_ = previous_ != device;
    if (changed_) check(cudaSetDevice(device), "cudaSetDevice");
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard() {
    if (changed_) static_cast<void>(cudaSetDevice(previous_));
  }

 private:
  int previous_ = 0;
  bool changed_ = false;
};

/// Lets this thread allocate while another one captures a graph, without breaking that capture.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { exchange(); }

 private:
  void exchange() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace gpukern::gpu

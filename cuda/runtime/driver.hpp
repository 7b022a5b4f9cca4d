// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The few functions of the driver that the runtime has no word for. Found at run time: a machine
// without a driver loads the library all the same.
#pragma once

#include <cuda.h>

#include "cuda/common/check.hpp"

namespace gpukern::gpu {

struct Driver {
  decltype(&cuCtxGetCurrent) get_current = nullptr;
  decltype(&cuCtxGetDevice) current_device = nullptr;
  decltype(&cuCtxPushCurrent) push = nullptr;
  decltype(&cuCtxPopCurrent) pop = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_primary = nullptr;
  decltype(&cuDevicePrimaryCtxGetState) primary_state = nullptr;
  decltype(&cuPointerGetAttributes) pointer_attributes = nullptr;
  decltype(&cuEventQuery) query_event = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
};

/// Throws where there is no driver.
const Driver& driver();

/// The address of a function of the driver, as of a version of CUDA; throws if there is none.
void* driver_function(const char* name, unsigned version = 12000);

template <class Function>
void find(const char* name, Function& function, unsigned version = 12000) {
  function = reinterpret_cast<Function>(driver_function(name, version));
}

/// The context that the CUDA runtime and all libraries share; kept for the life of the process.
CUcontext primary_context(int device);

/// Throws in the child of a fork() that CUDA did not survive.
void require_no_fork();

/// Throws for an error of a function of the driver.
void check(CUresult result, const char* call);

/// Makes a context current; at the end the caller's own is current again, also if it was none.
/// That is more than a device's number tells: it creates no context on the caller's device, and
/// a context of the caller's own making comes back.
class ContextGuard {
 public:
  explicit ContextGuard(CUcontext context) : driver_(driver()) {
    CUcontext current = nullptr;
    check(driver_.get_current(&current), "cuCtxGetCurrent");
    changed_ = current != context;
    if (changed_) check(driver_.push(context), "cuCtxPushCurrent");
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  ~ContextGuard() {
    CUcontext pushed = nullptr;
    if (changed_) static_cast<void>(driver_.pop(&pushed));
  }

 private:
  const Driver& driver_;
  bool changed_ = false;
};

}  // namespace gpukern::gpu

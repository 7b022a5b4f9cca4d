// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The driver functions without an equivalent in the runtime. They are resolved at run time, so that
// the library loads on a machine without a driver.
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

/// Throws if there is no driver.
const Driver& driver();

/// The address of a driver function for a version of CUDA; throws if the driver does not have it.
void* driver_function(const char* name, unsigned version = 12000);

template <class Function>
void find(const char* name, Function& function, unsigned version = 12000) {
  function = reinterpret_cast<Function>(driver_function(name, version));
}

/// The context that the CUDA runtime and all libraries share; retained for the life of the process.
CUcontext primary_context(int device);

/// Throws in the child of a fork() that happened after CUDA was used.
void require_no_fork();

/// Throws for an error of a driver function.
void check(CUresult result, const char* call);

/// Makes a context current and restores the caller's context, or none, in the destructor. Unlike
/// cudaSetDevice(), it creates no context on the caller's device and restores contexts that the
/// caller created.
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

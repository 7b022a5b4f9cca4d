// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/driver.hpp"

#include <atomic>
#include <memory>

#include "src/core/make_once.hpp"

namespace gpukern::gpu {

void* driver_function(const char* name, [[maybe_unused]] unsigned version) {
  void* address = nullptr;
  auto found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
#else
  check(cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found),
        "cudaGetDriverEntryPoint");
#endif
  require(found == cudaDriverEntryPointSuccess, GPUKERN_CUDA_ERROR, "the NVIDIA driver has no ",
          name);
  return address;
}

namespace {

Driver find_all() {
  Driver found;
  find("cuCtxGetCurrent", found.get_current);
  find("cuCtxGetDevice", found.current_device);
  find("cuCtxPushCurrent", found.push);
  find("cuCtxPopCurrent", found.pop);
  find("cuDeviceGet", found.device);
  find("cuDevicePrimaryCtxRetain", found.retain_primary);
  find("cuDevicePrimaryCtxGetState", found.primary_state);
  find("cuPointerGetAttributes", found.pointer_attributes);
  find("cuEventQuery", found.query_event);
  find("cuGetErrorString", found.error_string);
  return found;
}

constinit std::atomic<const Driver*> functions{nullptr};

}  // namespace

const Driver& driver() {
  return make_once(functions, [] { return std::make_unique<const Driver>(find_all()); });
}

CUcontext primary_context(int device) {
  CUdevice handle = 0;
  check(driver().device(&handle, device), "cuDeviceGet");
  CUcontext context = nullptr;
  check(driver().retain_primary(&context, handle), "cuDevicePrimaryCtxRetain");
  return context;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  static_cast<void>(driver().error_string(result, &text));
  // Runtime errors have the same numbers as driver errors.
  fail(status_of(static_cast<cudaError_t>(result)), call,
       " failed: ", text != nullptr ? text : "unknown", " (driver error ", static_cast<int>(result),
       ")", advice_for(static_cast<cudaError_t>(result)));
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "driver.hpp"

namespace gpukern::gpu {
namespace {

template <class Function>
void find(const char* name, Function& function) {
  void* address = nullptr;
  auto found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;
  check(cudaGetDriverEntryPointByVersion(name, &address, kVersion, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
#else
  check(cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found),
        "cudaGetDriverEntryPoint");
#endif
  require(found == cudaDriverEntryPointSuccess, GPUKERN_CUDA_ERROR, "the NVIDIA driver has no ",
          name);
  function = reinterpret_cast<Function>(address);
}

Driver find_all() {
  Driver found;
  find("cuCtxGetCurrent", found.get_current);
  find("cuCtxPushCurrent", found.push);
  find("cuCtxPopCurrent", found.pop);
  find("cuDeviceGet", found.device);
  find("cuDevicePrimaryCtxRetain", found.retain_primary);
  find("cuPointerGetAttributes", found.pointer_attributes);
  find("cuEventQuery", found.query_event);
  return found;
}

}  // namespace

const Driver& driver() {
  static const Driver found = find_all();
  return found;
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const bool memory = result == CUDA_ERROR_OUT_OF_MEMORY;
  fail(memory ? GPUKERN_MEMORY_ERROR : GPUKERN_CUDA_ERROR, call, " failed: driver error ",
       static_cast<int>(result));
}

}  // namespace gpukern::gpu

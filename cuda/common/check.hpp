// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Turns CUDA errors into exceptions.
#pragma once

#include <cuda_runtime.h>

#include "src/core/error.hpp"

namespace gpukern::gpu {

/// The status for a CUDA error.
inline gpukern_status status_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return GPUKERN_MEMORY_ERROR;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return GPUKERN_CONTEXT_LOST;
    default:
      return GPUKERN_CUDA_ERROR;
  }
}

/// Advice that is appended to the text of the error.
inline const char* advice_for(cudaError_t error) {
  if (status_of(error) == GPUKERN_CONTEXT_LOST)
    return "; caused by a kernel launched earlier: the CUDA context is unusable for the rest of "
           "the process";
  // CUDA returns this for a stream of another device and for one that was destroyed.
  if (error == cudaErrorInvalidResourceHandle)
    return "; the stream must belong to the device of the call";
  return "";
}

/// Throws for an error of `call`, such as "cudaMemcpyAsync". Clears CUDA's last error first:
/// another library must not find an error that is reported here.
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  fail(status_of(error), call, " failed: ", cudaGetErrorString(error), " (",
       cudaGetErrorName(error), ")", advice_for(error));
}

/// For a call whose failure nobody can act on, such as a release. Clears CUDA's last error as well.
inline void ignore(cudaError_t error) {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
}

}  // namespace gpukern::gpu

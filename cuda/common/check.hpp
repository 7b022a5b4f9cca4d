// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// CUDA's errors as exceptions.
#pragma once

#include <cuda_runtime.h>

#include "src/core/error.hpp"

namespace gpukern::gpu {

/// What an error of CUDA means to a caller.
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

/// Words that follow the error's own.
inline const char* advice_for(cudaError_t error) {
  if (status_of(error) == GPUKERN_CONTEXT_LOST)
    return "; a kernel launched earlier did this, the CUDA context of this process is lost, and "
           "only a new process can use the GPU again";
  // What CUDA says of a stream of another device, and of one that was destroyed.
  if (error == cudaErrorInvalidResourceHandle)
    return "; the stream must be one of the device that computes";
  return "";
}

/// Throws for an error of `call` ("cudaMemcpyAsync"). Clears it first: an error that is reported
/// here must not be found again by the next library that asks for the last one.
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  fail(status_of(error), call, " failed: ", cudaGetErrorString(error), " (",
       cudaGetErrorName(error), ")", advice_for(error));
}

}  // namespace gpukern::gpu

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
  // What CUDA says of a stream of another device, and of one that was destroyed.
  const bool stream = error == cudaErrorInvalidResourceHandle;
  fail(memory ? GPUKERN_MEMORY_ERROR : GPUKERN_CUDA_ERROR, call,
       " failed: ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")",
       stream ? "; the stream must be one of the device that computes" : "");
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The device that a stream belongs to.
#pragma once

#include "cuda/common/check.hpp"
#include "cuda/runtime/capture.hpp"
#include "src/runtime/device.hpp"

namespace gpukern::gpu {

/// Refuses a stream of a device other than the one that holds the arrays. CUDA 13 would launch
/// kernels there nevertheless; they would access memory of another device, which makes the context
/// unusable.
inline void require_stream_of(int device, cudaStream_t stream) {
  if (cuda_status().device_count < 2 || stream == nullptr || stream == cudaStreamLegacy ||
      stream == cudaStreamPerThread)
    return;
#if CUDART_VERSION >= 12080
  // CUDA does not report it during a capture, and the query would invalidate the capture.
  if (capture_of(stream).any()) return;
  int found = device;
  check(cudaStreamGetDevice(stream, &found), "cudaStreamGetDevice");
  require(found == device, GPUKERN_VALUE_ERROR, "the stream must be on cuda:", device,
          ", which holds the arrays, got a stream on cuda:", found);
#endif
}

}  // namespace gpukern::gpu

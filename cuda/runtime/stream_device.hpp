// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Which device a stream belongs to.
#pragma once

#include "cuda/common/check.hpp"
#include "cuda/runtime/capture.hpp"
#include "src/runtime/device.hpp"

namespace gpukern::gpu {

/// Refuses a stream of another device than the one whose memory is at work. CUDA 13 launches
/// kernels there nevertheless, and what they read is not theirs: the process would lose its
/// context.
inline void require_stream_of(int device, cudaStream_t stream) {
  if (cuda_status().device_count < 2 || stream == nullptr || stream == cudaStreamLegacy ||
      stream == cudaStreamPerThread)
    return;
#if CUDART_VERSION >= 12080
  // CUDA does not tell during a capture, and the question would break it.
  if (capture_of(stream).any()) return;
  int found = device;
  check(cudaStreamGetDevice(stream, &found), "cudaStreamGetDevice");
  require(found == device, GPUKERN_VALUE_ERROR, "the stream must be one of cuda:", device,
          ", where the arrays lie, got one of cuda:", found);
#endif
}

}  // namespace gpukern::gpu

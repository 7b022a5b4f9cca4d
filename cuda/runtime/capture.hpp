// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Captures of streams into CUDA graphs: queries that precede work which could invalidate them.
#pragma once

#include <cstdint>

#include "cuda/common/check.hpp"

namespace gpukern::gpu {

/// Lets this thread allocate, wait, query and copy host memory on streams that are not captured,
/// without invalidating the captures of other streams by any thread.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { exchange(); }

 private:
  void exchange() { ignore(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The capture that a stream takes part in.
struct Capture {
  std::uint64_t id = 0;  ///< 0 if it is not captured
  cudaGraph_t graph = nullptr;
  /// The legacy stream, while a stream that blocks it is captured: work on it fails and would
  /// invalidate that capture.
  bool blocked = false;

  [[nodiscard]] bool any() const { return id != 0 || blocked; }
};

inline Capture capture_of(cudaStream_t stream) {
  Capture capture;
  auto status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &id, &capture.graph);
  capture.blocked = error == cudaErrorStreamCaptureImplicit;
  if (capture.blocked)
    static_cast<void>(cudaGetLastError());
  else
    check(error, "cudaStreamGetCaptureInfo");
  if (status != cudaStreamCaptureStatusNone) capture.id = id;
  return capture;
}

inline void require_not_blocked(const Capture& capture) {
  require(!capture.blocked, GPUKERN_VALUE_ERROR,
          "the legacy default stream takes no work while a stream that blocks it captures a CUDA "
          "graph; pass the stream that captures, or a non-blocking one");
}

}  // namespace gpukern::gpu

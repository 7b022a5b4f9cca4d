// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include <array>
#include <atomic>

#include "cuda/common/check.hpp"
#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/device_facts.hpp"

namespace gpukern::gpu {
namespace {

/// The first driver whose graphs distinguish programmatic dependencies (edge data), as CUDA numbers
/// it.
constexpr int kWithEdgeData = 12030;

__global__ void probe_kernel() {}

/// The compute capability that the library's code for the current device was compiled for; 0 if it
/// has none. Programs and copies need none.
int code_capability() {
  const RelaxedCapture relaxed;
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, probe_kernel);
  for (const cudaError_t no_code : {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction,
                                    cudaErrorUnsupportedPtxVersion})
    if (error == no_code) {
      static_cast<void>(cudaGetLastError());
      return 0;
    }
  check(error, "cudaFuncGetAttributes");
  return attributes.ptxVersion;
}

int driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return version;
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, device), "cudaDeviceGetAttribute");
  return value;
}

DeviceFacts ask(int device) {
  return {.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                                attribute(cudaDevAttrComputeCapabilityMinor, device),
          .multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device),
          .shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          .l2_bytes = attribute(cudaDevAttrL2CacheSize, device),
          .overlaps_kernels = code_capability() >= 90 && driver_version() >= kWithEdgeData};
}

}  // namespace

DeviceFacts device_facts() {
  // The facts of a device are cached for the life of the process. Concurrent threads get equal
  // facts, and one copy of a few bytes is leaked.
  static std::array<std::atomic<const DeviceFacts*>, 64> known{};
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const auto slot = static_cast<std::size_t>(device);
  if (slot >= known.size()) return ask(device);
  const DeviceFacts* facts = known[slot].load(std::memory_order_acquire);
  if (facts == nullptr) {
    facts = new DeviceFacts(ask(device));
    known[slot].store(facts, std::memory_order_release);
  }
  return *facts;
}

}  // namespace gpukern::gpu

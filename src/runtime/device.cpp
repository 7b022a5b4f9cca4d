// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/device.hpp"

#include <atomic>
#include <memory>

#include "src/core/make_once.hpp"
#include "src/runtime/cpu_device.hpp"
#include "src/runtime/profiler_range.hpp"
#include "src/runtime/virtual_memory.hpp"
#ifdef GPUKERN_HAVE_CUDA
#include "cuda/runtime/backend.hpp"
#endif

namespace gpukern {

#ifndef GPUKERN_HAVE_CUDA
namespace gpu {
namespace {
// The CUDA backend's interface (cuda/runtime/backend.hpp) in a build without it.
CudaStatus query_status() {
  return {.reason =
              "this gpukern was built without CUDA (no nvcc was found, or CUDA was turned off)"};
}
void begin_range(const char*) {}
void end_range() {}
Device& backend(int) { fail(GPUKERN_INTERNAL_ERROR, "there is no CUDA backend"); }
void query_device(int, gpukern_device_info&) { backend(0); }
gpukern_device pointer_device(const void*) { return {GPUKERN_CPU, 0}; }
int pinning_device(int wanted) { return wanted; }
void release_pinned(void*) { backend(0); }
void unpin(void*) { backend(0); }
VirtualMemory& virtual_memory() { fail(GPUKERN_INTERNAL_ERROR, "there is no CUDA backend"); }
}  // namespace
}  // namespace gpu
#endif

namespace {
// Never destroyed: callers use the text of the reason.
constinit std::atomic<const CudaStatus*> queried{nullptr};
}  // namespace

const CudaStatus& cuda_status() {
  return make_once(queried, [] { return std::make_unique<const CudaStatus>(gpu::query_status()); });
}

void begin_range(const char* name) { gpu::begin_range(name); }
void end_range() { gpu::end_range(); }

void require_cuda_device(int device_id) {
  const CudaStatus& status = cuda_status();
  require(status.device_count > 0, GPUKERN_DEVICE_ERROR,
          "there is no CUDA device: ", status.reason);
  require(device_id >= 0 && device_id < status.device_count, GPUKERN_DEVICE_ERROR,
          "there is no device cuda:", device_id,
          ", the devices are cuda:0 to cuda:", status.device_count - 1);
}

Device& device_for(DeviceId device) {
  if (!device.cuda) return cpu_device();
  require_cuda_device(device.id);
  return gpu::backend(device.id);
}

void query_device(int device_id, gpukern_device_info& info) {
  require_cuda_device(device_id);
  gpu::query_device(device_id, info);
}

gpukern_device pointer_device(const void* data) {
  if (data == nullptr || cuda_status().device_count == 0) return {GPUKERN_CPU, 0};
  return gpu::pointer_device(data);
}

int pinning_device(int wanted) { return gpu::pinning_device(wanted); }

void release_pinned(void* data) { gpu::release_pinned(data); }

void unpin(void* data) { gpu::unpin(data); }

VirtualMemory& virtual_memory() {
  require_cuda_device(0);
  return gpu::virtual_memory();
}

}  // namespace gpukern

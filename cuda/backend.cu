// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>

#include "backend.hpp"
#include "check.hpp"
#include "kernels.hpp"

namespace gpukern::gpu {
namespace {

// How much scratch memory a device's pool keeps when its stream is synchronised.
constexpr std::uint64_t kPoolKeeps = std::uint64_t{64} << 20;

std::atomic<bool> forked_after_cuda{false};

void require_no_fork() {
  require(!forked_after_cuda.load(std::memory_order_relaxed), GPUKERN_CUDA_ERROR,
          "CUDA was used before this process was forked and does not work in the child; start "
          "the process with the \"spawn\" method instead");
}

cudaStream_t cuda_stream(Stream stream) { return static_cast<cudaStream_t>(stream); }

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device) : device_(device) {
    const DeviceGuard guard(device_);
    int pools = 0;
    check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device_),
          "cudaDeviceGetAttribute");
    if (pools == 0) return;
    // A pool of our own: the settings of the default one belong to the process.
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device_};
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    std::uint64_t keeps = kPoolKeeps;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keeps),
          "cudaMemPoolSetAttribute");
  }
  // The pool lives as long as the process: CUDA may be gone before static destructors run.

  void gather(const GatherArgs& args, Stream stream) override {
    const DeviceGuard guard(device_);
    gpu::gather(*this, args, cuda_stream(stream));
  }
  void saxpy(const SaxpyArgs& args, Stream stream) override {
    const DeviceGuard guard(device_);
    gpu::saxpy(args, cuda_stream(stream));
  }
  void copy(const CopyArgs& args, Stream stream) override {
    const DeviceGuard guard(device_);
    gpu::copy(args, cuda_stream(stream));
  }

  std::optional<BadIndex> first_bad_index(const IndexArgs& args, Stream stream) override {
    const DeviceGuard guard(device_);
    require_no_capture(
        stream,
        "gather: mode must be wrap, clip or fill while a CUDA graph is captured, got "
        "raise, which has to wait for the stream");
    return gpu::first_bad_index(*this, args, cuda_stream(stream));
  }

  void* allocate(std::size_t bytes, Stream stream) override {
    const DeviceGuard guard(device_);
    const RelaxedCapture relaxed;
    void* data = nullptr;
    const cudaError_t error =
        pool_ != nullptr ? cudaMallocFromPoolAsync(&data, bytes, pool_, cuda_stream(stream))
                         : cudaMalloc(&data, bytes);
    if (error == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      fail(GPUKERN_MEMORY_ERROR, "cuda:", device_, " is out of memory (", bytes, " bytes wanted)");
    }
    check(error, "cudaMallocFromPoolAsync");
    return data;
  }

  void release(void* data, Stream stream) override {
    const DeviceGuard guard(device_);
    const RelaxedCapture relaxed;
    check(pool_ != nullptr ? cudaFreeAsync(data, cuda_stream(stream)) : cudaFree(data),
          "cudaFreeAsync");
  }

  void upload(void* to, const void* from, std::size_t bytes, Stream stream) override {
    transfer(to, from, bytes, cudaMemcpyHostToDevice, stream);
  }
  void download(void* to, const void* from, std::size_t bytes, Stream stream) override {
    transfer(to, from, bytes, cudaMemcpyDeviceToHost, stream);
  }

  void synchronize(Stream stream) override {
    const DeviceGuard guard(device_);
    require_no_capture(stream, "a stream is not waited for while it captures a CUDA graph");
    check(cudaStreamSynchronize(cuda_stream(stream)), "cudaStreamSynchronize");
  }

 private:
  /// To be asked before anything is enqueued that a capture does not survive.
  static void require_no_capture(Stream stream, const char* message) {
    auto capturing = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(cuda_stream(stream), &capturing);
    // The legacy stream, while any stream of the process captures.
    const bool implicit = error == cudaErrorStreamCaptureImplicit;
    if (implicit)
      static_cast<void>(cudaGetLastError());
    else
      check(error, "cudaStreamIsCapturing");
    require(!implicit && capturing == cudaStreamCaptureStatusNone, GPUKERN_VALUE_ERROR, message);
  }

  void transfer(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Stream stream) {
    const DeviceGuard guard(device_);
    require_no_capture(stream,
                       "host arrays cannot take part while a CUDA graph is captured: their copies "
                       "are waited for");
    check(cudaMemcpyAsync(to, from, bytes, kind, cuda_stream(stream)), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(cuda_stream(stream)), "cudaStreamSynchronize");
  }

  int device_;
  cudaMemPool_t pool_ = nullptr;
};

std::string reason_for(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "no NVIDIA driver for CUDA " + std::to_string(CUDART_VERSION / 1000) +
             " or newer was found";
    case cudaErrorNoDevice:
      return "the NVIDIA driver found no GPU (is CUDA_VISIBLE_DEVICES empty?)";
    default:
      return std::string("the NVIDIA driver did not start: ") + cudaGetErrorString(error);
  }
}

}  // namespace

CudaStatus query_status() {
  static const int watched = pthread_atfork(
      nullptr, nullptr, [] { forked_after_cuda.store(true, std::memory_order_relaxed); });
  static_cast<void>(watched);
  CudaStatus status;
  status.built = true;
  if (cudaRuntimeGetVersion(&status.runtime_version) != cudaSuccess) status.runtime_version = 0;
  if (cudaDriverGetVersion(&status.driver_version) != cudaSuccess) status.driver_version = 0;
  const cudaError_t error = cudaGetDeviceCount(&status.device_count);
  static_cast<void>(cudaGetLastError());
  if (error != cudaSuccess) {
    status.device_count = 0;
    status.reason = reason_for(error);
  } else if (status.device_count == 0) {
    status.reason = reason_for(cudaErrorNoDevice);
  }
  return status;
}

Backend& backend(int device_id) {
  require_no_fork();
  static std::mutex mutex;
  // Never destroyed, as the pools inside: arrays may outlive every static object of ours.
  static auto& backends = *new std::deque<std::unique_ptr<CudaBackend>>;
  const std::lock_guard lock(mutex);
  const auto slot = static_cast<std::size_t>(device_id);
  if (backends.size() <= slot) backends.resize(slot + 1);
  if (!backends[slot]) backends[slot] = std::make_unique<CudaBackend>(device_id);
  return *backends[slot];
}

void query_device(int device_id, gpukern_device_info& info) {
  require_no_fork();
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device_id), "cudaGetDeviceProperties");
  static_cast<void>(std::snprintf(info.name, sizeof(info.name), "%s", properties.name));
  info.compute_capability_major = properties.major;
  info.compute_capability_minor = properties.minor;
  info.multiprocessor_count = properties.multiProcessorCount;
  info.l2_cache_bytes = properties.l2CacheSize;
  info.total_memory_bytes = properties.totalGlobalMem;
}

}  // namespace gpukern::gpu

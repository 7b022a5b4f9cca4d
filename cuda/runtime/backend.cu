// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/common/check.hpp"
#include "cuda/memory/array_memory.hpp"
#include "cuda/memory/host_memory.hpp"
#include "cuda/runtime/backend.hpp"
#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/driver.hpp"
#include "cuda/runtime/events.hpp"
#include "cuda/runtime/kernels.hpp"
#include "cuda/runtime/stream_device.hpp"
#include "src/core/make_once.hpp"

namespace gpukern::gpu {
namespace {

// The pool keeps one part in kPoolKeepsPart of the device's memory when a stream is synchronized:
// enough for the scratch memory of a large gather. Mapping a gigabyte again takes as long as
// gathering 50 Mi items.
constexpr std::uint64_t kPoolKeepsPart = 16;

std::atomic<bool> cuda_used{false};
std::atomic<bool> forked_after_cuda{false};
// Registered when the library is loaded: another thread may fork during the first query.
[[maybe_unused]] const int kForkHandler = pthread_atfork(nullptr, nullptr, [] {
  if (cuda_used.load()) forked_after_cuda.store(true);
});

cudaStream_t cuda_stream(Stream stream) { return static_cast<cudaStream_t>(stream); }

constexpr const char* kRaiseUnderCapture =
    "mode must not be raise while a CUDA graph is captured: it has to wait for the stream";

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int device) : device_(device), context_(primary_context(device)) {
    const ContextGuard guard(context_);
    const RelaxedCapture relaxed;
    int pools = 0;
    check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device_),
          "cudaDeviceGetAttribute");
    if (pools != 0) make_pool();
    arrays_ = std::make_unique<ArrayMemory>(device_, pool_, events_);
  }
  // The pool is never destroyed: CUDA may be gone before static destructors run.

  void run(const Operation& operation, Stream stream) override {
    const ContextGuard guard(context_);
    require_open(stream);
    cudaStream_t const on = cuda_stream(stream);
    operation.visit(
        Overloaded{[&](const GatherArgs& args) { gpu::gather(*this, args, on); },
                   [&](const SaxpyArgs& args) { gpu::saxpy(args, on); },
                   [&](const SaxpyManyArgs& args) { gpu::saxpy_many(args, on); },
                   [&](const AxpbyArgs& args) { gpu::axpby(args, on); },
                   [&](const CopyArgs& args) { gpu::copy(args, on); },
                   [&](const ScatterArgs& args) { gpu::scatter(*this, args, on); },
                   [&](const GatherReduceArgs& args) { gpu::gather_reduce(*this, args, on); },
                   [&](const RavelArgs& args) { gpu::ravel_index(args, on); },
                   [&](const RecordIndexArgs& args) { gpu::record_bad_index(args, on); },
                   [&](const SelectArgs& args) { gpu::select(*this, args, on); }});
  }
  bool gather_checked(const GatherArgs& args, Stream stream) override {
    const ContextGuard guard(context_);
    require_no_capture(stream, kRaiseUnderCapture);
    require_open(stream);
    return gpu::gather_checked(*this, args, cuda_stream(stream));
  }
  bool takes_tuple(const IndexTuple& tuple, std::int64_t count, std::int64_t item_bytes,
                   gpukern_gather_path path) override {
    const ContextGuard guard(context_);
    return gather_takes_tuple(tuple, count, item_bytes, path);
  }
  Strategy strategy(const Operation& operation) override {
    const ContextGuard guard(context_);
    return operation.visit(
        Overloaded{[](const GatherArgs& args) { return gather_strategy(args); },
                   [](const SaxpyArgs& args) { return saxpy_strategy(args); },
                   [](const SaxpyManyArgs&) { return Strategy{GPUKERN_PATH_CONTIGUOUS}; },
                   [](const AxpbyArgs& args) { return axpby_strategy(args); },
                   [](const CopyArgs&) { return Strategy{}; },
                   [](const ScatterArgs& args) { return scatter_strategy(args); },
                   [](const GatherReduceArgs& args) { return gather_reduce_strategy(args); },
                   [](const RavelArgs&) { return Strategy{}; },
                   [](const RecordIndexArgs&) { return Strategy{}; },
                   [](const SelectArgs& args) { return select_strategy(args); }});
  }

  void check_indices(std::span<const IndexArgs> args, std::span<IndexCheck> checks,
                     Stream stream) override {
    const ContextGuard guard(context_);
    require_no_capture(stream, kRaiseUnderCapture);
    require_open(stream);
    gpu::check_indices(*this, args, checks, cuda_stream(stream));
  }
  std::int64_t count_nonzero(const SelectArgs& args, Stream stream) override {
    const ContextGuard guard(context_);
    require_open(stream);
    return gpu::count_nonzero(*this, args, cuda_stream(stream));
  }

  void* allocate(std::size_t bytes, Stream stream) override {
    const ContextGuard guard(context_);
    require_open(stream);
    const RelaxedCapture relaxed;
    if (pool_ == nullptr)
      require_no_capture(stream,
                         "this call needs scratch memory, which a CUDA graph supports only on a "
                         "device with memory pools");
    return allocate_on(device_, pool_, bytes, cuda_stream(stream));
  }

  void release(void* data, Stream stream) override {
    const ContextGuard guard(context_);
    const RelaxedCapture relaxed;
    check(pool_ != nullptr ? cudaFreeAsync(data, cuda_stream(stream)) : cudaFree(data),
          "cudaFreeAsync");
  }

  void* allocate_array(std::size_t bytes, Stream stream) override {
    const ContextGuard guard(context_);
    return arrays_->allocate(bytes, cuda_stream(stream));
  }
  void release_array(void* data, Stream stream) override {
    const ContextGuard guard(context_);
    arrays_->release(data, cuda_stream(stream));
  }

  void upload(void* to, const void* from, std::size_t bytes, Stream stream) override {
    transfer(to, from, bytes, cudaMemcpyHostToDevice, stream);
  }
  void download(void* to, const void* from, std::size_t bytes, Stream stream) override {
    transfer(to, from, bytes, cudaMemcpyDeviceToHost, stream);
  }

  void set(void* to, const void* element, std::size_t bytes, Stream stream) override {
    const ContextGuard guard(context_);
    require_open(stream);
    gpu::set(to, element, bytes, cuda_stream(stream));
  }

  void synchronize(Stream stream) override {
    const ContextGuard guard(context_);
    require_no_capture(stream, "a stream cannot be synchronized while it captures a CUDA graph");
    const RelaxedCapture relaxed;
    check(cudaStreamSynchronize(cuda_stream(stream)), "cudaStreamSynchronize");
  }

  Stream make_stream() override {
    const ContextGuard guard(context_);
    const RelaxedCapture relaxed;
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return made;
  }
  void release_stream(Stream stream) override {
    const ContextGuard guard(context_);
    check(cudaStreamDestroy(cuda_stream(stream)), "cudaStreamDestroy");
  }
  void* allocate_pinned(std::size_t bytes) override {
    const ContextGuard guard(context_);
    return gpu::allocate_pinned(bytes);
  }
  void release_pinned(void* data) override { gpu::release_pinned(data); }
  void pin(void* data, std::size_t bytes) override {
    const ContextGuard guard(context_);
    gpu::pin(data, bytes);
  }
  std::byte* pinned_view(const std::byte* begin, const std::byte* end) override {
    const ContextGuard guard(context_);
    return gpu::pinned_view(begin, end);
  }
  void enqueue_upload(void* to, const void* pinned, std::size_t bytes, Stream stream) override {
    enqueue_copy(to, pinned, bytes, cudaMemcpyHostToDevice, stream);
  }
  void enqueue_download(void* pinned, const void* from, std::size_t bytes, Stream stream) override {
    enqueue_copy(pinned, from, bytes, cudaMemcpyDeviceToHost, stream);
  }

  void enqueue_host(HostFunction function, void* context, Stream stream) override {
    const ContextGuard guard(context_);
    check(cudaLaunchHostFunc(cuda_stream(stream), function, context), "cudaLaunchHostFunc");
  }

  void wait(Stream stream, Stream other) override {
    const ContextGuard guard(context_);
    gpu::wait(events_, cuda_stream(stream), cuda_stream(other));
  }
  std::uint64_t number_of(Stream stream) override {
    const ContextGuard guard(context_);
    const Capture capture = gpu::capture_of(cuda_stream(stream));
    require_not_blocked(capture);
    unsigned long long number = 0;
    if (capture.id != 0) return number;  // a query might invalidate the capture
    check(cudaStreamGetId(cuda_stream(stream), &number), "cudaStreamGetId");
    return number;
  }
  std::uint64_t capture_of(Stream stream) override {
    const ContextGuard guard(context_);
    return gpu::capture_of(cuda_stream(stream)).id;
  }
  Event record(Stream stream, Event event) override {
    const ContextGuard guard(context_);
    return gpu::record(events_, cuda_stream(stream), static_cast<cudaEvent_t>(event));
  }
  void wait_event(Stream stream, Event event) override {
    const ContextGuard guard(context_);
    gpu::wait_event(cuda_stream(stream), static_cast<cudaEvent_t>(event));
  }
  bool is_done(Event event) override {
    const ContextGuard guard(context_);
    return gpu::is_done(static_cast<cudaEvent_t>(event));
  }
  void await_event(Event event) override {
    const ContextGuard guard(context_);
    const RelaxedCapture relaxed;
    check(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "cudaEventSynchronize");
  }
  void release_event(Event event) override { events_.give_back(static_cast<cudaEvent_t>(event)); }

 private:
  void make_pool() {
    std::size_t available = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    // A separate pool: the settings of the default one belong to the process.
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device_};
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    std::uint64_t keeps = total / kPoolKeepsPart;
    const cudaError_t error =
        cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keeps);
    if (error != cudaSuccess) ignore(cudaMemPoolDestroy(pool_));
    check(error, "cudaMemPoolSetAttribute");
  }

  /// Refuses work on the legacy stream that would invalidate the capture of another thread, and a
  /// stream of another device, whose kernels would read memory of this one.
  void require_open(Stream stream) const {
    if (stream == nullptr || stream == cudaStreamLegacy)
      return require_not_blocked(gpu::capture_of(cudaStreamLegacy));
    require_stream_of(device_, cuda_stream(stream));
  }

  /// Call this before enqueuing anything that would invalidate a capture.
  static void require_no_capture(Stream stream, const char* message) {
    require(!gpu::capture_of(cuda_stream(stream)).any(), GPUKERN_VALUE_ERROR, message);
  }

  void transfer(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Stream stream) {
    const ContextGuard guard(context_);
    require_no_capture(stream,
                       "host arrays are not allowed while a CUDA graph is captured: the call waits "
                       "for their copies");
    enqueue_copy(to, from, bytes, kind, stream);
    const RelaxedCapture relaxed;
    check(cudaStreamSynchronize(cuda_stream(stream)), "cudaStreamSynchronize");
  }

  void enqueue_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                    Stream stream) {
    const ContextGuard guard(context_);
    require_open(stream);
    const RelaxedCapture relaxed;
    check(cudaMemcpyAsync(to, from, bytes, kind, cuda_stream(stream)), "cudaMemcpyAsync");
  }

  int device_;
  CUcontext context_;
  cudaMemPool_t pool_ = nullptr;
  EventCache events_;
  std::unique_ptr<ArrayMemory> arrays_;
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

constexpr char kForkedReason[] =
    "CUDA was used before this process was forked and does not work in the child; start the "
    "process with the \"spawn\" method instead";

using Backends = std::vector<std::atomic<CudaDevice*>>;
constinit std::atomic<Backends*> all_backends{nullptr};
constinit std::mutex backend_mutex;  // held while a backend is made

// Never destroyed, nor are the pools: arrays may outlive all static objects.
Backends& backends() {
  return make_once(all_backends, [] {
    return std::make_unique<Backends>(static_cast<std::size_t>(cuda_status().device_count));
  });
}

}  // namespace

void require_no_fork() {
  require(!forked_after_cuda.load(std::memory_order_relaxed), GPUKERN_CUDA_ERROR, kForkedReason);
}

CudaStatus query_status() {
  CudaStatus status;
  status.built = true;
  cuda_used.store(true);
  // The parent was forked during its query: CUDA would wait for a thread that does not exist here.
  if (forked_after_cuda.load()) {
    status.reason = kForkedReason;
    return status;
  }
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

Device& backend(int device_id) {
  require_no_fork();
  std::atomic<CudaDevice*>& slot = backends()[static_cast<std::size_t>(device_id)];
  CudaDevice* found = slot.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  const std::lock_guard lock(backend_mutex);
  found = slot.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = std::make_unique<CudaDevice>(device_id).release();
    slot.store(found, std::memory_order_release);
  }
  return *found;
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

gpukern_device pointer_device(const void* data) {
  require_no_fork();
  CUmemorytype type{};
  unsigned managed = 0;
  int ordinal = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* answers[] = {&type, &managed, &ordinal};
  check(driver().pointer_attributes(std::size(wanted), wanted, answers,
                                    reinterpret_cast<CUdeviceptr>(data)),
        "cuPointerGetAttributes");
  if (managed != 0) return {GPUKERN_CUDA_MANAGED, ordinal};
  switch (type) {
    case CU_MEMORYTYPE_DEVICE:
      return {GPUKERN_CUDA, ordinal};
    case CU_MEMORYTYPE_HOST:
      return {GPUKERN_CUDA_HOST, 0};
    default:
      return {GPUKERN_CPU, 0};
  }
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Memory, streams, events and graphs, for a Python without a CUDA package.

#include "api.cuh"

namespace bench {
namespace {

__global__ void empty_kernel() {}

/// Keeps the stream busy for some time, so that the host can enqueue the next work in advance.
__global__ void spin_kernel(std::int64_t nanoseconds) {
  std::int64_t start;
  std::int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

}  // namespace
}  // namespace bench

using bench::as_event;
using bench::as_stream;
using bench::check;
using bench::guard;

BENCH_API const char* bench_last_error() { return bench::last_error.c_str(); }

/// An attribute of the current device, by its cudaDeviceAttr.
BENCH_API int bench_attribute(int attribute, int* value) {
  return guard([&] {
    int device = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
  });
}

BENCH_API int bench_memory(std::int64_t* free_bytes, std::int64_t* total_bytes) {
  return guard([&] {
    std::size_t free_memory = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free_memory, &total));
    *free_bytes = static_cast<std::int64_t>(free_memory);
    *total_bytes = static_cast<std::int64_t>(total);
  });
}

BENCH_API int bench_allocate(std::int64_t bytes, void** data) {
  return guard([&] { check(cudaMalloc(data, static_cast<std::size_t>(bytes))); });
}

BENCH_API int bench_stream_create(void** stream) {
  return guard([&] {
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    *stream = made;
  });
}

/// Waits for the whole device: some peers use their own streams.
BENCH_API int bench_synchronize_device() {
  return guard([] { check(cudaDeviceSynchronize()); });
}

BENCH_API int bench_event_create(void** event) {
  return guard([&] {
    cudaEvent_t made = nullptr;
    check(cudaEventCreate(&made));
    *event = made;
  });
}

BENCH_API int bench_event_record(void* event, void* stream) {
  return guard([&] { check(cudaEventRecord(as_event(event), as_stream(stream))); });
}

/// Waits for `last` and gives the time since `first`.
BENCH_API int bench_event_elapsed(void* first, void* last, double* seconds) {
  return guard([&] {
    float milliseconds = 0;
    check(cudaEventSynchronize(as_event(last)));
    check(cudaEventElapsedTime(&milliseconds, as_event(first), as_event(last)));
    *seconds = static_cast<double>(milliseconds) * 1e-3;
  });
}

BENCH_API int bench_capture_begin(void* stream) {
  return guard(
      [&] { check(cudaStreamBeginCapture(as_stream(stream), cudaStreamCaptureModeRelaxed)); });
}

/// Ends a capture. `graph` receives the executable graph; NULL discards the capture.
BENCH_API int bench_capture_end(void* stream, void** graph) {
  return guard([&] {
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(as_stream(stream), &captured));
    if (graph == nullptr) {
      check(cudaGraphDestroy(captured));
      return;
    }
    cudaGraphExec_t made = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&made, captured, 0);
    check(cudaGraphDestroy(captured));
    check(status);
    *graph = made;
  });
}

BENCH_API int bench_graph_launch(void* graph, void* stream) {
  return guard(
      [&] { check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), as_stream(stream))); });
}

BENCH_API int bench_graph_release(void* graph) {
  return guard([&] { check(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph))); });
}

BENCH_API int bench_spin(double seconds, void* stream) {
  return guard([&] {
    bench::spin_kernel<<<1, 1, 0, as_stream(stream)>>>(static_cast<std::int64_t>(seconds * 1e9));
    check(cudaGetLastError());
  });
}

/// An empty launch: the lower bound of the cost of a call.
BENCH_API int bench_empty(void* stream) {
  return guard([&] { bench::launch(bench::empty_kernel, 1, stream); });
}

/// Copies from device or host memory; memory that is not page-locked may be reused on return.
BENCH_API int bench_copy(void* to, const void* from, std::int64_t bytes, void* stream) {
  return guard([&] {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                          as_stream(stream)));
  });
}

BENCH_API int bench_set_bytes(void* data, int value, std::int64_t bytes, void* stream) {
  return guard([&] {
    check(cudaMemsetAsync(data, value, static_cast<std::size_t>(bytes), as_stream(stream)));
  });
}

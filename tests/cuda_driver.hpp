// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The parts of the NVIDIA driver that the tests of streams, graphs and devices use, resolved at run
// time: the tests build without a CUDA toolkit and run without a driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpukern_test {

using Address = unsigned long long;

enum CaptureMode { kGlobal, kThreadLocal, kRelaxed };
enum StreamKind : unsigned { kBlocking = 0, kNonBlocking = 1 };

/// The driver's functions under the names of their symbols.
class Driver {
 public:
  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

  template <class... Arguments>
  void call(const char* symbol, Arguments... arguments) const {
    EXPECT_EQ(status(symbol, arguments...), 0) << symbol;
  }
  template <class... Arguments>
  int status(const char* symbol, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (function == nullptr) ADD_FAILURE() << "the driver has no " << symbol;
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) { status("cuInit", 0U); }
  void* library_;
};

template <class... Arguments>
void cuda(const char* symbol, Arguments... arguments) {
  Driver::get().call(symbol, arguments...);
}

inline void* current_context() {
  void* context = nullptr;
  cuda("cuCtxGetCurrent", &context);
  return context;
}

inline void* primary_context(int device) {
  void* context = nullptr;
  cuda("cuDevicePrimaryCtxRetain", &context, device);
  return context;
}

/// A device's primary context, current on this thread.
class OnDevice {
 public:
  explicit OnDevice(int device = 0) { cuda("cuCtxPushCurrent_v2", primary_context(device)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    void* popped = nullptr;
    cuda("cuCtxPopCurrent_v2", &popped);
  }
};

class StreamHandle {
 public:
  explicit StreamHandle(StreamKind kind = kNonBlocking) {
    cuda("cuStreamCreate", &handle_, static_cast<unsigned>(kind));
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  ~StreamHandle() { cuda("cuStreamDestroy_v2", handle_); }
  operator void*() const { return handle_; }  // NOLINT(google-explicit-constructor)

  void synchronize() const { cuda("cuStreamSynchronize", handle_); }
  void begin_capture(CaptureMode mode = kGlobal) const {
    cuda("cuStreamBeginCapture_v2", handle_, static_cast<int>(mode));
  }

 private:
  void* handle_ = nullptr;
};

/// A stream of a green context: of two multiprocessors, which need not be neighbours.
class GreenStream {
 public:
  GreenStream() {
    constexpr int kMultiprocessors = 1;
    constexpr unsigned kAnyPlace = 1;
    constexpr unsigned kDefaultStream = 1;
    Resource all;
    Resource few;
    unsigned groups = 1;
    void* description = nullptr;
    int device = 0;
    cuda("cuCtxGetDevice", &device);
    cuda("cuDeviceGetDevResource", device, &all, kMultiprocessors);
    cuda("cuDevSmResourceSplitByCount", &few, &groups, &all, static_cast<Resource*>(nullptr),
         kAnyPlace, 2U);
    cuda("cuDevResourceGenerateDesc", &description, &few, 1U);
    cuda("cuGreenCtxCreate", &context_, description, device, kDefaultStream);
    cuda("cuGreenCtxStreamCreate", &handle_, context_, unsigned{kNonBlocking}, 0);
  }
  GreenStream(const GreenStream&) = delete;
  GreenStream& operator=(const GreenStream&) = delete;
  ~GreenStream() {
    cuda("cuStreamDestroy_v2", handle_);
    cuda("cuGreenCtxDestroy", context_);
  }
  operator void*() const { return handle_; }  // NOLINT(google-explicit-constructor)

  void synchronize() const { cuda("cuStreamSynchronize", handle_); }
  static bool supported() { return dlsym(RTLD_DEFAULT, "cuGreenCtxStreamCreate") != nullptr; }

 private:
  /// At least a CUdevResource, which only the driver reads.
  struct alignas(8) Resource {
    unsigned char bytes[256];
  };
  void* context_ = nullptr;
  void* handle_ = nullptr;
};

/// The work captured since begin_capture(), to be launched again and again.
class Graph {
 public:
  explicit Graph(void* stream) {
    cuda("cuStreamEndCapture", stream, &graph_);
    EXPECT_NE(graph_, nullptr) << "the capture was broken";
    if (graph_ != nullptr) cuda("cuGraphInstantiateWithFlags", &executable_, graph_, 0ULL);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable_ != nullptr) cuda("cuGraphExecDestroy", executable_);
    if (graph_ != nullptr) cuda("cuGraphDestroy", graph_);
  }
  void launch(void* stream) const { cuda("cuGraphLaunch", executable_, stream); }
  [[nodiscard]] void* handle() const { return graph_; }
  [[nodiscard]] std::size_t nodes() const {
    std::size_t count = 0;
    cuda("cuGraphGetNodes", graph_, static_cast<void*>(nullptr), &count);
    return count;
  }

  struct Grid {
    unsigned blocks;
    unsigned threads;
  };
  /// For a graph whose only node is a kernel.
  [[nodiscard]] Grid only_kernel() const {
    struct {  // CUDA_KERNEL_NODE_PARAMS_v2
      void* function;
      unsigned grid[3];
      unsigned block[3];
      unsigned shared_bytes;
      void* rest[4];
    } launch{};
    EXPECT_EQ(nodes(), 1U);
    std::size_t count = 1;
    void* node = nullptr;
    cuda("cuGraphGetNodes", graph_, &node, &count);
    cuda("cuGraphKernelNodeGetParams_v2", node, static_cast<void*>(&launch));
    return {launch.grid[0], launch.block[0]};
  }

 private:
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

/// Keeps a stream busy, so that work with a missing wait runs too early.
inline void enqueue_delay(void* stream, unsigned microseconds) {
  void (*const sleep)(void*) = [](void* duration) {
    usleep(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(duration)));
  };
  const auto duration = static_cast<std::uintptr_t>(microseconds);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the argument is a number
  cuda("cuLaunchHostFunc", stream, sleep, reinterpret_cast<void*>(duration));
}

inline void enqueue_fill(void* data, unsigned value, std::size_t count, void* stream) {
  cuda("cuMemsetD32Async", reinterpret_cast<Address>(data), value, count, stream);
}

inline void enqueue_copy(void* to, const void* from, std::size_t bytes, void* stream) {
  cuda("cuMemcpyDtoDAsync_v2", reinterpret_cast<Address>(to), reinterpret_cast<Address>(from),
       bytes, stream);
}

inline void read_back(void* to, const void* from, std::size_t bytes) {
  cuda("cuMemcpyDtoH_v2", to, reinterpret_cast<Address>(from), bytes);
}

}  // namespace gpukern_test

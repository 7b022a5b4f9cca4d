// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Memory that callers own, also while CUDA graphs are captured.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <unordered_map>

#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/events.hpp"

namespace gpukern::gpu {

/// Allocates the memory of one device in stream order.
///
/// Memory that a graph uses must stay allocated for as long as the graph can be launched, which is
/// longer than the lifetime of the array that held it during the capture. Memory that is allocated
/// or released while a stream is captured is therefore owned by the graph as well, through a CUDA
/// user object: it is freed when the graph is destroyed, and never by a launch.
class ArrayMemory {
 public:
  /// If `pool` is nullptr, memory is not stream-ordered. The device is current.
  ArrayMemory(int device, cudaMemPool_t pool, EventCache& events)
      : device_(device), pool_(pool), events_(events) {}

  void* allocate(std::size_t bytes, cudaStream_t stream);
  void release(void* data, cudaStream_t stream);

 private:
  /// Memory to be freed when CUDA may be called again. It is stored in lists, whose nodes move
  /// between lists without an allocation: a callback of CUDA must not fail.
  struct Pending {
    void* data;
    cudaEvent_t last_use = nullptr;  ///< of the caller
    bool on_legacy = false;          ///< in the order of the legacy stream, which was blocked
  };
  /// Memory that graphs hold.
  struct Held {
    ArrayMemory* owner;
    std::list<Pending> memory;  ///< one node
    bool by_caller;
    int graphs = 0;
  };

  static void graph_is_gone(void* held) noexcept;
  void* allocate_now(std::size_t bytes);
  void hold(cudaGraph_t graph, Held* held);
  void hold(cudaGraph_t graph, void* data, bool by_caller);
  void drop_reference(Held* held, bool caller) noexcept;
  bool release_held(void* data, cudaStream_t stream, const Capture& capture);
  void free_pending() noexcept;
  bool try_to_free(Pending& pending) noexcept;
  void free_later(std::list<Pending>& pending) noexcept;
  cudaStream_t own_stream();
  void free(void* data, cudaStream_t stream);

  int device_;
  cudaMemPool_t pool_;
  EventCache& events_;
  std::mutex mutex_;  ///< never held during a call of CUDA, which may call graph_is_gone()
  std::unordered_map<void*, Held*> held_;
  std::list<Pending> pending_;
  cudaStream_t own_stream_ = nullptr;
  std::atomic<bool> any_held_{false};
  std::atomic<bool> any_pending_{false};
};

/// cudaMallocFromPoolAsync(), or cudaMalloc() without a pool.
void* allocate_on(int device, cudaMemPool_t pool, std::size_t bytes, cudaStream_t stream);

}  // namespace gpukern::gpu

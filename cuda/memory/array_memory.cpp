// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/memory/array_memory.hpp"

#include <iterator>
#include <memory>
#include <utility>

#include "cuda/common/check.hpp"

namespace gpukern::gpu {

void* allocate_on(int device, cudaMemPool_t pool, std::size_t bytes, cudaStream_t stream) {
  void* data = nullptr;
  const cudaError_t error = pool != nullptr ? cudaMallocFromPoolAsync(&data, bytes, pool, stream)
                                            : cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail(GPUKERN_MEMORY_ERROR, "cuda:", device, " is out of memory (", bytes, " bytes wanted)");
  }
  check(error, "cudaMallocFromPoolAsync");
  return data;
}

void* ArrayMemory::allocate(std::size_t bytes, cudaStream_t stream) {
  const RelaxedCapture relaxed;
  free_pending();
  const Capture capture = capture_of(stream);
  if (!capture.any()) return allocate_on(device_, pool_, bytes, stream);
  void* data = allocate_now(bytes);
  if (capture.id == 0) return data;
  try {
    hold(capture.graph, data, true);
  } catch (...) {
    release(data, own_stream());
    throw;
  }
  return data;
}

void ArrayMemory::release(void* data, cudaStream_t stream) {
  const RelaxedCapture relaxed;
  free_pending();
  const Capture capture = capture_of(stream);
  if (any_held_.load(std::memory_order_acquire) && release_held(data, stream, capture)) return;
  if (capture.id != 0) {
    hold(capture.graph, data, false);
  } else if (capture.blocked) {
    std::list<Pending> later{{.data = data, .on_legacy = true}};
    free_later(later);
  } else {
    free(data, stream);
  }
}

/// Allocates memory that any stream may use from now on, even one that has no work yet.
void* ArrayMemory::allocate_now(std::size_t bytes) {
  cudaStream_t stream = own_stream();
  void* data = allocate_on(device_, pool_, bytes, stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return data;
}

void ArrayMemory::hold(cudaGraph_t graph, void* data, bool by_caller) {
  auto held = std::make_unique<Held>(
      Held{.owner = this, .memory = {{.data = data}}, .by_caller = by_caller});
  if (by_caller) {
    const std::lock_guard lock(mutex_);
    held_.emplace(data, held.get());
    any_held_.store(true, std::memory_order_release);
  }
  hold(graph, held.release());
}

/// Ties the memory to a graph. If CUDA fails, the state is as if the graph had been destroyed.
void ArrayMemory::hold(cudaGraph_t graph, Held* held) {
  {
    const std::lock_guard lock(mutex_);
    ++held->graphs;
  }
  cudaUserObject_t object = nullptr;
  cudaError_t error =
      cudaUserObjectCreate(&object, held, graph_is_gone, 1, cudaUserObjectNoDestructorSync);
  if (error != cudaSuccess) {
    drop_reference(held, false);
  } else {
    error = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
    if (error != cudaSuccess) ignore(cudaUserObjectRelease(object, 1));
  }
  check(error, "cudaGraphRetainUserObject");
}

/// Called by CUDA when a graph, its executables and their launches have been destroyed. Must not
/// call CUDA.
void ArrayMemory::graph_is_gone(void* argument) noexcept {
  auto* held = static_cast<Held*>(argument);
  held->owner->drop_reference(held, false);
}

/// Drops the caller's reference or a graph's. When no reference remains, the memory is to be freed;
/// if only the caller's remains, it is ordinary memory again.
void ArrayMemory::drop_reference(Held* held, bool caller) noexcept {
  const std::lock_guard lock(mutex_);
  if (caller)
    held->by_caller = false;
  else
    --held->graphs;
  if (caller || held->graphs == 0) held_.erase(held->memory.front().data);
  any_held_.store(!held_.empty(), std::memory_order_release);
  if (held->graphs > 0) return;
  if (!held->by_caller) {
    pending_.splice(pending_.end(), held->memory);
    any_pending_.store(true, std::memory_order_release);
  }
  delete held;
}

/// Releases the caller's reference to memory that a graph holds; returns false if no graph does.
bool ArrayMemory::release_held(void* data, cudaStream_t stream, const Capture& capture) {
  // Recorded first, since CUDA must not be called under the lock.
  cudaEvent_t last_use = capture.any() ? nullptr : record(events_, stream, nullptr);
  Held* held = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(data);
    if (found != held_.end()) {
      held = found->second;
      held->memory.front().last_use = last_use;
      held->memory.front().on_legacy = capture.blocked;
      ++held->graphs;  // keeps it alive until this function returns
    }
  }
  if (held == nullptr) {
    if (last_use != nullptr) events_.give_back(last_use);
    return false;
  }
  // Released even if an error is thrown: the caller could not release it again.
  struct End {
    Held* held;
    ~End() {
      held->owner->drop_reference(held, true);
      held->owner->drop_reference(held, false);
    }
  } const end{held};
  if (capture.id != 0) hold(capture.graph, held);
  return true;
}

void ArrayMemory::free_later(std::list<Pending>& pending) noexcept {
  const std::lock_guard lock(mutex_);
  pending_.splice(pending_.end(), pending);
  any_pending_.store(true, std::memory_order_release);
}

/// Frees pending memory. Memory that CUDA does not free remains pending: the error does not concern
/// the current call.
void ArrayMemory::free_pending() noexcept {
  if (!any_pending_.load(std::memory_order_acquire)) return;
  std::list<Pending> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(pending_);
    any_pending_.store(false, std::memory_order_release);
  }
  for (auto pending = ready.begin(); pending != ready.end();) {
    pending = try_to_free(*pending) ? ready.erase(pending) : std::next(pending);
  }
  if (!ready.empty()) free_later(ready);
}

bool ArrayMemory::try_to_free(Pending& pending) noexcept {
  try {
    if (pending.on_legacy && gpu::capture_of(cudaStreamLegacy).blocked) return false;
    cudaStream_t stream = pending.on_legacy ? cudaStreamLegacy : own_stream();
    if (pending.last_use != nullptr) {
      check(cudaStreamWaitEvent(stream, pending.last_use, 0), "cudaStreamWaitEvent");
      // This stream now has the order, also for a later attempt if the free fails.
      events_.give_back(std::exchange(pending.last_use, nullptr));
    }
    free(pending.data, stream);
    return true;
  } catch (...) {
    return false;
  }
}

/// A stream that is never captured and that no other stream blocks.
cudaStream_t ArrayMemory::own_stream() {
  {
    const std::lock_guard lock(mutex_);
    if (own_stream_ != nullptr) return own_stream_;
  }
  cudaStream_t made = nullptr;
  check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  const std::lock_guard lock(mutex_);
  if (own_stream_ == nullptr) {
    own_stream_ = made;
    return made;
  }
  ignore(cudaStreamDestroy(made));
  return own_stream_;
}

void ArrayMemory::free(void* data, cudaStream_t stream) {
  if (pool_ != nullptr)
    check(cudaFreeAsync(data, stream), "cudaFreeAsync");
  else
    check(cudaFree(data), "cudaFree");
}

}  // namespace gpukern::gpu

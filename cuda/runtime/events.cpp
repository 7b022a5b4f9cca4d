// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/events.hpp"

#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/driver.hpp"

namespace gpukern::gpu {

cudaEvent_t EventCache::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      cudaEvent_t event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  const RelaxedCapture relaxed;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return event;
}

void EventCache::give_back(cudaEvent_t event) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  } catch (...) {  // no memory to cache it
    ignore(cudaEventDestroy(event));
  }
}

namespace {

/// An event of the cache for the time of a call.
class Borrowed {
 public:
  explicit Borrowed(EventCache& events) : events_(events), event_(events.take()) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { events_.give_back(event_); }
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  EventCache& events_;
  cudaEvent_t event_;
};

bool same_stream(cudaStream_t a, cudaStream_t b) {
  auto one_name = [](cudaStream_t stream) { return stream == cudaStreamLegacy ? nullptr : stream; };
  return one_name(a) == one_name(b);
}

bool is_legacy(cudaStream_t stream) { return same_stream(stream, cudaStreamLegacy); }

}  // namespace

void wait(EventCache& events, cudaStream_t stream, cudaStream_t other) {
  if (same_stream(stream, other)) return;
  const Capture here = capture_of(stream);
  const Capture there = capture_of(other);
  if (here.id != 0 && there.id == 0) return;
  require_not_blocked(here);
  require_not_blocked(there);
  require(here.id == 0 || here.id == there.id, GPUKERN_VALUE_ERROR,
          "stream_wait: the two streams capture different CUDA graphs");
  // CUDA would fail, and the capture of the other stream would be invalidated.
  require(there.id == 0 || !is_legacy(stream), GPUKERN_VALUE_ERROR,
          "stream_wait: the legacy default stream cannot join the capture of a CUDA graph; pass "
          "the stream that captures");
  const Borrowed event(events);
  check(cudaEventRecord(event.get(), other), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent");
}

cudaEvent_t record(EventCache& events, cudaStream_t stream, cudaEvent_t event) {
  const Capture capture = capture_of(stream);
  require_not_blocked(capture);
  if (capture.id != 0) {
    if (event != nullptr) events.give_back(event);
    return nullptr;
  }
  cudaEvent_t made = event != nullptr ? event : events.take();
  const cudaError_t error = cudaEventRecord(made, stream);
  if (error != cudaSuccess && event == nullptr) events.give_back(made);
  check(error, "cudaEventRecord");
  return made;
}

void wait_event(cudaStream_t stream, cudaEvent_t event) {
  const Capture capture = capture_of(stream);
  if (capture.id != 0) return;
  require_not_blocked(capture);
  check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

bool is_done(cudaEvent_t event) {
  const RelaxedCapture relaxed;
  // The runtime would leave "not ready" behind as the thread's last error.
  const CUresult result = driver().query_event(event);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "cuEventQuery");
  return true;
}

}  // namespace gpukern::gpu

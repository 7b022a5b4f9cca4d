// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The order between streams of one device.
#pragma once

#include <cuda_runtime.h>

#include <mutex>
#include <vector>

namespace gpukern::gpu {

/// A cache of events of one device: creating one takes longer than recording it.
class EventCache {
 public:
  cudaEvent_t take();
  void give_back(cudaEvent_t event) noexcept;

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> events_;
};

// As the functions of Device with these names; the device is current.
void wait(EventCache& events, cudaStream_t stream, cudaStream_t other);
cudaEvent_t record(EventCache& events, cudaStream_t stream, cudaEvent_t event);
void wait_event(cudaStream_t stream, cudaEvent_t event);
bool is_done(cudaEvent_t event);

}  // namespace gpukern::gpu

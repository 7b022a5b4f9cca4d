// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Host functions of a stream that may run while the process exits.
#pragma once

namespace gpukern {

/// The scope of a host function; in_time() is false if it must not start. When the process exits,
/// exit() waits for running host functions, before CUDA releases their memory, and no other starts.
/// It does not wait for the stream: host functions that have not started are dropped, as kernels
/// are. Nor does it wait in the child of a fork(), where their threads do not exist.
class HostWork {
 public:
  HostWork();
  HostWork(const HostWork&) = delete;
  HostWork& operator=(const HostWork&) = delete;
  ~HostWork();

  [[nodiscard]] bool in_time() const { return in_time_; }

  /// Registers the exit handler. To be called before the first host function is enqueued and after
  /// CUDA has been initialized, so that CUDA is shut down later.
  static void watch_exit();

 private:
  bool in_time_;
};

}  // namespace gpukern

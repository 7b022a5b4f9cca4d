// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Work that a device's stream lets the host do while the process may be ending.
#pragma once

namespace gpukern {

/// The time of one such piece of work: its constructor says whether there is still time for it.
/// When the process ends, exit() waits for pieces at work, before CUDA takes its memory away from
/// under them, and none begins any more. It does not wait for the stream: what is enqueued and has
/// not begun is given up, as kernels are. Nor does it wait in the child of a fork(), where no such
/// thread is.
class HostWork {
 public:
  HostWork();
  HostWork(const HostWork&) = delete;
  HostWork& operator=(const HostWork&) = delete;
  ~HostWork();

  [[nodiscard]] bool in_time() const { return in_time_; }

  /// Lets exit() know of it; to be called before the first is enqueued, when CUDA is at work, which
  /// then ends after it.
  static void watch_exit();

 private:
  bool in_time_;
};

}  // namespace gpukern

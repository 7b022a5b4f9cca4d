// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Deferred index errors: a record in the memory of a GPU, and the calls that may write to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "gpukern/index_errors.h"
#include "src/core/tensor.hpp"
#include "src/runtime/device.hpp"

/// The caller's handle.
struct gpukern_index_errors {
 public:
  explicit gpukern_index_errors(gpukern::DeviceId its_device);
  gpukern_index_errors(const gpukern_index_errors&) = delete;
  gpukern_index_errors& operator=(const gpukern_index_errors&) = delete;
  ~gpukern_index_errors();

  /// The number of the next call.
  std::int64_t next_call() { return calls_.fetch_add(1, std::memory_order_relaxed); }
  /// To be called when work of a call has been enqueued that writes to the record.
  void note_use(gpukern::Stream stream);
  /// Waits for all calls, empties the record and returns what it had.
  gpukern::IndexRecord take();

  [[nodiscard]] gpukern::IndexRecord* record() const { return record_; }
  [[nodiscard]] gpukern::DeviceId device_id() const { return device_id_; }

 private:
  /// The last call on a stream, of those that have not been waited for.
  struct Use {
    std::uint64_t stream;
    gpukern::Event event;
  };

  void wait();

  gpukern::DeviceId device_id_;
  gpukern::Device& device_;
  gpukern::Stream stream_;  ///< own
  gpukern::IndexRecord* record_ = nullptr;
  std::atomic<std::int64_t> calls_{0};
  std::mutex mutex_;
  std::vector<Use> uses_;
};

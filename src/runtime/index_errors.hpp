// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Deferred index errors: records in the memory of a GPU, and the calls that may write to them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "gpukern/index_errors.h"
#include "src/core/error.hpp"
#include "src/core/tensor.hpp"
#include "src/runtime/device.hpp"

/// The caller's handle.
///
/// Calls write to one of two records. A check lets later calls write to the other one, and waits
/// for the earlier calls without a lock. Each captured graph has a separate record, which it
/// keeps alive.
struct gpukern_index_errors {
 public:
  explicit gpukern_index_errors(gpukern::DeviceId its_device);
  gpukern_index_errors(const gpukern_index_errors&) = delete;
  gpukern_index_errors& operator=(const gpukern_index_errors&) = delete;
  ~gpukern_index_errors();

  /// The number of the next call.
  std::int64_t next_call();
  /// Calls enqueue(record), which enqueues work on the stream that writes to the record.
  void use(gpukern::Stream stream, const std::function<void(gpukern::IndexRecord*)>& enqueue);
  /// Waits for all calls so far and empties their records. Returns the error for the first bad
  /// index and fills in `first`, if there is one. If it throws, the next call returns it.
  std::optional<gpukern::Error> take(gpukern::IndexRecord& first);

  [[nodiscard]] gpukern::DeviceId device_id() const { return device_id_; }

 private:
  /// The last call on a stream, of those that have not been waited for.
  struct Use {
    std::uint64_t stream;
    gpukern::Event event;
  };
  struct GraphRecord {
    std::uint64_t capture;
    gpukern::IndexRecord* record;
  };

  gpukern::IndexRecord* new_record(gpukern::Stream stream);
  gpukern::IndexRecord* record_of_capture(std::uint64_t capture, gpukern::Stream stream);
  void await(std::vector<Use>& uses);
  /// Empties a record that no call writes to, after first_ has taken account of it.
  void empty(gpukern::IndexRecord* record);
  /// Waits for all calls so far and empties their records, or those of a check that failed.
  void collect();
  void release() noexcept;

  gpukern::DeviceId device_id_;
  gpukern::Device& device_;
  gpukern::Stream stream_;      ///< own
  std::mutex checks_;           ///< of one check at a time; locked before mutex_
  bool unread_ = false;         ///< a check has failed, before it emptied the record not written to
  std::vector<Use> awaited_;    ///< by the check
  gpukern::IndexRecord first_;  ///< the first bad index that no check has reported
  std::mutex mutex_;            ///< of what follows
  gpukern::IndexRecord* records_[2]{};
  int current_ = 0;  ///< the record that calls write to
  std::int64_t calls_ = 0;
  std::vector<Use> uses_;
  std::vector<GraphRecord> graphs_;
};

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How kernels report bad indices, in mode "raise", and counts to the host, which waits for them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#include "src/runtime/device.hpp"

namespace gpukern::gpu {

/// What the blocks of a search share, on the device. All zero between searches: the last block of
/// each search resets it.
struct SearchShared {
  unsigned long long first;  ///< the complement of the first bad position, 0 if there is none
  unsigned long long count;  ///< of nonzero elements
  unsigned blocks_done;
  unsigned falls;  ///< whether an index is less than the one before
};

/// The result, in host memory that the device writes to.
struct Outcome {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t position;  ///< of a bad index
  std::int64_t value;      ///< the bad index, or the count
  bool falls;
};

/// Created once and reused, so that a call needs neither an allocation nor a copy.
struct Mailbox {
  SearchShared* shared = nullptr;
  volatile Outcome* outcome = nullptr;
  Outcome* outcome_on_device = nullptr;
};

/// Waits for the work that fills mailboxes.
void wait_for_mailboxes(cudaStream_t stream);

/// The unused mailboxes of a device.
class Mailboxes;

/// Holds a mailbox of the current device for one call; its position is initially kNone.
class MailboxLease {
 public:
  MailboxLease(Device& device, cudaStream_t stream);
  MailboxLease(const MailboxLease&) = delete;
  MailboxLease& operator=(const MailboxLease&) = delete;
  /// Waits for the stream if the mailbox was not read: work may still write to it.
  ~MailboxLease();

  [[nodiscard]] const Mailbox& mailbox() const { return box_; }

  /// Call it once, after the work on the stream is complete.
  Outcome read();

 private:
  Mailboxes& cache_;
  cudaStream_t stream_;
  Mailbox box_;
  bool in_use_ = true;
};

}  // namespace gpukern::gpu

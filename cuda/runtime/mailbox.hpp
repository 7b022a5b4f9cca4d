// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How kernels tell the host what mode "raise" has to know.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#include "src/runtime/device.hpp"

namespace gpukern::gpu {

/// What the blocks of a search share, on the device. All zero between searches: the last block of
/// each leaves it so.
struct SearchShared {
  unsigned long long first;  ///< the complement of the first bad position, 0 if there is none
  unsigned blocks_done;
};

/// In host memory that the device writes to.
struct Outcome {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t position;  ///< of a bad index
  std::int64_t value;
};

/// Made once and used again: neither allocation nor copy is left to a call.
struct Mailbox {
  SearchShared* shared = nullptr;
  volatile Outcome* outcome = nullptr;
  Outcome* outcome_on_device = nullptr;
};

/// A mailbox of the current device for one call, with kNone in it.
class MailboxLease {
 public:
  MailboxLease(Device& device, cudaStream_t stream);
  MailboxLease(const MailboxLease&) = delete;
  MailboxLease& operator=(const MailboxLease&) = delete;
  /// A mailbox that was not read is not used again: work on the stream may still write to it.
  ~MailboxLease() = default;

  [[nodiscard]] const Mailbox& mailbox() const { return box_; }

  /// Waits for the stream and gives the mailbox back; to be called once.
  Outcome read(cudaStream_t stream);

 private:
  Mailbox box_;
};

}  // namespace gpukern::gpu

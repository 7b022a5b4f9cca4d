// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Reports progress to the caller between the parts of a call.
#pragma once

#include <cstdint>

#include "src/core/error.hpp"

namespace gpukern {

class Progress {
 public:
  Progress(const char* function, const gpukern_exec* exec);

  /// Whether there is a callback.
  [[nodiscard]] bool wanted() const { return callback_ != nullptr; }
  void expect(std::int64_t total_bytes) { total_ = static_cast<std::uint64_t>(total_bytes); }
  /// Reports that another number of bytes is complete; throws GPUKERN_CANCELLED if the callback
  /// asks to stop.
  void add(std::int64_t bytes);

 private:
  const char* function_;
  gpukern_progress callback_ = nullptr;
  void* user_ = nullptr;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace gpukern

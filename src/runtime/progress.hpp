// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Reports progress to the caller between the parts of a call, and asks it whether to go on.
#pragma once

#include <cstdint>

#include "src/core/error.hpp"
#include "src/core/tensor.hpp"
#include "src/threading/stop.hpp"

namespace gpukern {

class Progress final : public cpu::StopSource {
 public:
  Progress(const char* function, const gpukern_exec* exec);

  /// Whether there is a callback.
  [[nodiscard]] bool wanted() const { return callback_ != nullptr; }
  void expect(std::int64_t total_bytes) { total_ = static_cast<std::uint64_t>(total_bytes); }
  /// Reports that another number of bytes is complete; throws GPUKERN_CANCELLED if the callback
  /// asks to stop.
  void add(std::int64_t bytes);
  /// For a cpu::StopScope: this, which the loops of a call on the CPU ask; null without a callback
  /// and for a GPU, whose chunks end in add().
  [[nodiscard]] cpu::StopSource* stop_source(DeviceId computes) {
    return wanted() && !computes.cuda ? this : nullptr;
  }
  [[noreturn]] void fail() const override;

 private:
  bool ask() noexcept override { return callback_(user_, done_, total_) != 0; }

  const char* function_;
  gpukern_progress callback_ = nullptr;
  void* user_ = nullptr;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace gpukern

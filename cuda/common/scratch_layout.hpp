// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The division of one piece of scratch memory into arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/arithmetic.hpp"

namespace gpukern::gpu {

/// Divides one allocation into aligned arrays. Without memory it only measures.
class ScratchLayout {
 public:
  explicit ScratchLayout(void* memory = nullptr) : memory_(static_cast<std::byte*>(memory)) {}
  template <class T = std::byte>
  T* take(std::int64_t count) {
    std::byte* const at = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += ceil_divide(count * static_cast<std::int64_t>(sizeof(T)), 256) * 256;
    return reinterpret_cast<T*>(at);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace gpukern::gpu

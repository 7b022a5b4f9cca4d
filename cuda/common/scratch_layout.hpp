// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The division of one piece of scratch memory into arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace gpukern::gpu {

/// Divides one allocation into aligned arrays. Without memory it only measures.
class ScratchLayout {
 public:
  explicit ScratchLayout(void* memory = nullptr) : memory_(static_cast<std::byte*>(memory)) {}
  template <class T = std::byte>
  T* take(std::int64_t count, std::int64_t size = sizeof(T)) {
    std::byte* const at = memory_ == nullptr ? nullptr : memory_ + bytes_;
    std::int64_t bytes = 0;
    // The index may repeat one element in memory, so that no memory bounds its length.
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, 255, &bytes) ||
        __builtin_add_overflow(bytes_, bytes / 256 * 256, &bytes_))
      throw std::bad_alloc();
    return reinterpret_cast<T*>(at);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace gpukern::gpu

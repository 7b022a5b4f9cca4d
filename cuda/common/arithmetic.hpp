// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sizes and alignments, on the host.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

/// The widest access of a thread, in bytes.
inline constexpr int kWordBytes = 16;

inline std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The largest power of two, at most kWordBytes, that divides the number (kWordBytes for 0).
inline std::int64_t alignment_of(std::int64_t number) {
  const std::int64_t bits = number | kWordBytes;
  return bits & -bits;
}
inline std::int64_t alignment_of(const void* address) {
  return alignment_of(reinterpret_cast<std::intptr_t>(address));
}

}  // namespace gpukern::gpu

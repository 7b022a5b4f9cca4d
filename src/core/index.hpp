// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What an index means: one definition for the CPU and the GPU.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "gpukern/gpukern.h"

#ifdef __CUDACC__
#define GPUKERN_HOST_DEVICE __host__ __device__
#else
#define GPUKERN_HOST_DEVICE
#endif

namespace gpukern {

/// How an index is stored.
struct IndexType {
  std::int32_t bytes = 8;
  bool is_signed = true;
};

/// Stands for an item without a source, which is filled; distinct from every position and offset.
/// As an index, it is out of bounds of every axis.
inline constexpr std::int64_t kNoPosition = std::numeric_limits<std::int64_t>::min();

/// Reads an index that need not be aligned, on the host. An unsigned value above 2**63 is negative.
inline std::int64_t load_index(const void* from, IndexType type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<std::size_t>(type.bytes));
  const int unused = 64 - 8 * type.bytes;
  const std::uint64_t top = bits << unused;
  return type.is_signed ? static_cast<std::int64_t>(top) >> unused
                        : static_cast<std::int64_t>(bits);
}

/// Whether mode "raise" accepts every value of the type.
constexpr bool accepts_all(IndexType type, std::int64_t n) {
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - 8 * type.bytes);
  return static_cast<std::uint64_t>(n) > (type.is_signed ? most / 2 : most);
}

/// Whether mode "raise" accepts the index. An unsigned value above 2**63 is passed as a negative
/// `value` with is_signed false.
GPUKERN_HOST_DEVICE constexpr bool in_bounds(std::int64_t value, bool is_signed, std::int64_t n) {
  if (static_cast<std::uint64_t>(value) < static_cast<std::uint64_t>(n)) return true;
  return is_signed && value < 0 && value >= -n;
}

/// Whether the offset of a bag is in [0, count] and not below the one before it. Unsigned values
/// above 2**63 are passed as in in_bounds().
GPUKERN_HOST_DEVICE constexpr bool is_offset(std::int64_t value, std::int64_t before,
                                             std::int64_t count) {
  return value >= 0 && value <= count && value >= before;
}

/// An offset, clipped to [0, count].
GPUKERN_HOST_DEVICE constexpr std::int64_t clip_offset(std::int64_t value, bool is_signed,
                                                       std::int64_t count) {
  if (value < 0) return is_signed ? 0 : count;
  return value < count ? value : count;
}

/// The position in [0, n) that an index refers to, or -1 where mode "fill" gives the fill value. n
/// is positive. The result is always in bounds, even if a checked index has changed since (mode
/// "raise").
GPUKERN_HOST_DEVICE constexpr std::int64_t resolve_index(gpukern_index_mode mode,
                                                         std::int64_t value, bool is_signed,
                                                         std::int64_t n) {
  if (static_cast<std::uint64_t>(value) < static_cast<std::uint64_t>(n)) return value;
  const bool negative = is_signed && value < 0;
  switch (mode) {
    case GPUKERN_INDEX_WRAP: {
      if (!is_signed) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) %
                                         static_cast<std::uint64_t>(n));
      }
      const std::int64_t rest = value % n;
      return rest < 0 ? rest + n : rest;
    }
    case GPUKERN_INDEX_CLIP:
      return negative ? 0 : n - 1;
    case GPUKERN_INDEX_FILL:
      return negative && value >= -n ? value + n : -1;
    case GPUKERN_INDEX_RAISE:
      break;
  }
  return negative && value >= -n ? value + n : 0;
}

}  // namespace gpukern

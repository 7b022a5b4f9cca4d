// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Bad indices that a device records in place of the caller's wait.
#pragma once

#include <cstdint>
#include <string>

#include "src/core/index.hpp"

namespace gpukern {

/// The first index that mode "raise" rejects.
struct BadIndex {
  std::int64_t value;     ///< to be interpreted as unsigned if the index type is unsigned
  std::int64_t position;  ///< in C order
};

inline std::string value_text(const BadIndex& bad, bool is_signed) {
  return is_signed ? std::to_string(bad.value)
                   : std::to_string(static_cast<std::uint64_t>(bad.value));
}

/// Where indices come from.
struct IndexOrigin {
  const char* function = nullptr;
  std::int64_t call = 0;  ///< its number
  std::int32_t axis = 0;
  bool is_signed = false;  ///< the index type
  std::int64_t n = 0;      ///< length of the axis
};

/// The first bad index of several calls, in memory of their device.
struct IndexRecord {
  std::uint32_t lock = 0;  ///< used on the device
  std::uint32_t found = 0;
  IndexOrigin origin;
  BadIndex bad{};

  /// Calls come in the order of their numbers, several indices of one in that of their axes.
  [[nodiscard]] GPUKERN_HOST_DEVICE bool is_after(const IndexOrigin& other,
                                                  std::int64_t position) const {
    if (found == 0) return true;
    if (origin.call != other.call) return origin.call > other.call;
    if (origin.axis != other.axis) return origin.axis > other.axis;
    return bad.position > position;
  }
  GPUKERN_HOST_DEVICE void set(const IndexOrigin& its_origin, const BadIndex& index) {
    origin = its_origin;
    bad = index;
    found = 1;
  }
};

}  // namespace gpukern

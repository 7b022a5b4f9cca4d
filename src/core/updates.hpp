// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The updates of a scatter with their indices resolved, sorted by slices of the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gpukern {

/// An update whose index is resolved.
struct Update {
  std::int64_t key;
  std::int64_t value;  ///< offset of the first column in ScatterArgs::values
};

/// The updates in order within each slice. A slice has the keys whose quotient by 1 << shift is its
/// number.
struct SlicedUpdates {
  static constexpr std::int64_t kMaxSlices = 2048;

  std::unique_ptr<Update[]> updates;
  std::vector<std::int64_t> begin;  ///< of each slice, and the end of the last one

  [[nodiscard]] std::int64_t slices() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  [[nodiscard]] std::int64_t begin_of(std::int64_t slice) const {
    return begin[static_cast<std::size_t>(slice)];
  }
};

}  // namespace gpukern

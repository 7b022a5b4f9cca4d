// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The types of indices and how they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/core/dtype.hpp"
#include "src/core/index.hpp"

namespace gpukern::cpu {

template <class Visit>
void visit_index_type(IndexType type, const Visit& visit) {
  switch (type.bytes * 2 + (type.is_signed ? 1 : 0)) {
    case 2:
      return visit(TypeTag<std::uint8_t>{});
    case 3:
      return visit(TypeTag<std::int8_t>{});
    case 4:
      return visit(TypeTag<std::uint16_t>{});
    case 5:
      return visit(TypeTag<std::int16_t>{});
    case 8:
      return visit(TypeTag<std::uint32_t>{});
    case 9:
      return visit(TypeTag<std::int32_t>{});
    case 16:
      return visit(TypeTag<std::uint64_t>{});
    default:
      return visit(TypeTag<std::int64_t>{});
  }
}

/// Reads an index that need not be aligned.
template <class T>
std::int64_t load(const std::byte* index) {
  T value;
  std::memcpy(&value, index, sizeof(T));
  return static_cast<std::int64_t>(value);
}

}  // namespace gpukern::cpu

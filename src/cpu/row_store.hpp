// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Stores of rows that bypass the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpukern::cpu {

/// The unit, in bytes, of the rows' size and alignment.
constexpr std::int64_t kRowUnit = 16;

/// Copies a row to memory without reading the cache lines that it replaces. Rows of successive
/// calls are contiguous and fill whole lines. The data is visible to other threads after
/// store_fence().
using StoreRow = void (*)(std::byte* to, const std::byte* from, std::int64_t bytes);

/// The function with the widest stores for contiguous rows of `bytes` bytes that start at `to`.
StoreRow row_store_for(const std::byte* to, std::int64_t bytes);

}  // namespace gpukern::cpu

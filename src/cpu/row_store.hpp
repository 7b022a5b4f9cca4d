// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Rows that are written past the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpukern::cpu {

/// Bytes that such a row is a multiple of, and its place aligned to.
constexpr std::int64_t kRowUnit = 16;

/// Copies to memory without the read of a line that an ordinary store begins with. What follows
/// from call to call fills whole lines. Other threads see them after store_fence().
using StoreRow = void (*)(std::byte* to, const std::byte* from, std::int64_t bytes);

/// The one with the longest stores for rows that follow each other from `to` on.
StoreRow row_store_for(const std::byte* to, std::int64_t bytes);

}  // namespace gpukern::cpu

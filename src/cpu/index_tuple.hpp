// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Resolves indices of several axes without an index of the axes flattened.
#pragma once

#include <cstdint>

#include "src/core/operation.hpp"

namespace gpukern::cpu {

/// Positions of a block: few, so that the processor finds offsets while it waits for items.
constexpr std::int64_t kTupleBlock = 256;

/// The offsets in the source, or kNoPosition, of up to a block of positions of the tuple in C
/// order. Returns false if mode "raise" rejects an index, which is then treated as 0.
bool tuple_offsets(const IndexTuple& tuple, gpukern_index_mode mode, std::int64_t first,
                   std::int64_t count, std::int64_t* offset);

/// Whether mode "raise" accepts the indices of all axes at positions [begin, end).
bool all_in_bounds(const IndexTuple& tuple, std::int64_t begin, std::int64_t end);

}  // namespace gpukern::cpu

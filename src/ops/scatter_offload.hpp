// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Scatter of host arrays on a GPU in chunks.
#pragma once

#include <cstdint>

#include "src/core/operation.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

/// The bytes of a chunk with `limit` bytes of device memory; 0 if it does not hold an element of
/// the target and one of its values.
std::int64_t scatter_chunk(const ScatterArgs& args, std::int64_t limit);

/// An upper bound of the scratch memory of a GPU, in bytes.
std::int64_t scatter_scratch(const ScatterArgs& args);

/// Scatters to a target in host memory, whose keys have one dimension at most, on the call's
/// device. A chunk has a range of the keys and the updates of these keys, in order. Columns are
/// elements.
void scatter_in_chunks(const Call& call, const ScatterArgs& args, std::int64_t chunk_bytes,
                       Progress& progress);

/// Without a reduction, makes columns as long as possible: merges contiguous inner dimensions.
void join_columns(ScatterArgs& args);

}  // namespace gpukern

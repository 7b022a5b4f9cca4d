// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Reductions of bags of host arrays on a GPU in chunks.
#pragma once

#include <cstdint>

#include "src/core/operation.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

/// How arguments in host memory are divided.
struct ReduceChunks {
  std::int64_t columns;  ///< at most, of the source at the same time; 0 if not one fits
  std::int64_t held;     ///< bytes of the source that all chunks of these columns share
  std::int64_t bytes;    ///< of a chunk
};

/// With `limit` bytes of device memory.
ReduceChunks reduce_chunks(const GatherReduceArgs& args, std::int64_t limit);

/// An upper bound of the scratch memory of a GPU, in bytes.
std::int64_t reduce_scratch(const GatherReduceArgs& args);

/// Reduces bags of host arrays on the call's device. A chunk has bags and their items, with an
/// index the indices, else the elements of a source whose axis has one dimension at most.
void reduce_in_chunks(const Call& call, const GatherReduceArgs& args, const ReduceChunks& chunks,
                      Progress& progress);

}  // namespace gpukern

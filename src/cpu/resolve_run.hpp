// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Resolves runs of indices to positions on the axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/core/index.hpp"

namespace gpukern::cpu {

/// Resolves `count` indices, `step` bytes apart, to positions on an axis of length n, or
/// kNoPosition. Returns false if mode "raise" rejects an index; its position is then 0.
using ResolveRun = bool (*)(const std::byte* index, std::int64_t step, std::int64_t count,
                            std::int64_t n, std::int64_t* position);

/// The function for indices of a type in a mode.
ResolveRun resolve_for(IndexType type, gpukern_index_mode mode);

}  // namespace gpukern::cpu

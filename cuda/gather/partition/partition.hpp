// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The partitioned gather as the dispatch sees it; partition.cuh says how it works.
#pragma once

#include "cuda/gather/direct.cuh"

namespace gpukern::gpu {

/// Whether gather_partitioned() does the work, as long as there is scratch memory.
bool is_partitioned(const DirectCall& call);

/// Gathers everything and returns true, or declines: where the path does not serve the call, does
/// not pay (unless GatherArgs::path forces it), or scratch memory is short. Serves items of 1, 2, 4
/// and 8 bytes, densely packed, by indices of 4 and 8 bytes, all aligned to 16 bytes.
bool gather_partitioned(Backend& backend, const DirectCall& call);

}  // namespace gpukern::gpu

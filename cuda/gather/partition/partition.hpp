// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The partitioned gather as a strategy; partition.cuh says how it works.
#pragma once

#include "cuda/gather/strategy.hpp"

namespace gpukern::gpu {

/// Serves a 1-D gather of contiguous items of 1, 2, 4 or 8 bytes, with indices of 4 or 8 bytes, all
/// aligned to 16 bytes, if the model of rates predicts a gain or GatherArgs::path requests it.
bool is_partitioned(const GatherProblem& problem);
std::int64_t partition_scratch_bytes(const GatherProblem& problem);
void run_partitioned(const GatherLaunch& launch);

}  // namespace gpukern::gpu

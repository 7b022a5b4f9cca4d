// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The operations of the CUDA backend, on the current device.
#pragma once

#include <cuda_runtime.h>

#include "src/runtime/backend.hpp"

namespace gpukern::gpu {

void gather(Backend& backend, const GatherArgs& args, cudaStream_t stream);
bool gather_checked(Backend& backend, const GatherArgs& args, cudaStream_t stream);
/// The path that gather() takes; for a partitioned one, if scratch memory suffices.
gpukern_compute_path gather_path(const GatherArgs& args);
void saxpy(const SaxpyArgs& args, cudaStream_t stream);
void copy(const CopyArgs& args, cudaStream_t stream);
std::optional<BadIndex> first_bad_index(Backend& backend, const IndexArgs& args,
                                        cudaStream_t stream);

}  // namespace gpukern::gpu

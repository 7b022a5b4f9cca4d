// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include "src/core/operation.hpp"

namespace gpukern::gpu {

/// axpby of contiguous, aligned arrays of one 16-bit type. Returns false for others.
bool axpby_words(const AxpbyArgs& args, cudaStream_t stream);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include "cuda/saxpy/math.cuh"
#include "src/core/operation.hpp"

namespace gpukern::gpu {

/// saxpy, or axpby by `factors`, of operands that are not all contiguous.
void saxpy_strided(const SaxpyArgs& args, const Factors* factors, cudaStream_t stream);

}  // namespace gpukern::gpu

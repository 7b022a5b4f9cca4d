// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include "src/core/operation.hpp"

namespace gpukern::gpu {

/// saxpy of operands that are not all contiguous.
void saxpy_strided(const SaxpyArgs& args, cudaStream_t stream);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include "src/core/operation.hpp"

namespace gpukern::gpu {

/// axpby of a number b and of arrays a, x and y, as of fma, all of float32 or all of float64, in
/// layouts that are neither contiguous nor transposed and that fill tiles. Returns false for
/// others.
bool axpby_tiles(const AxpbyArgs& args, cudaStream_t stream);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include "src/core/operation.hpp"

namespace gpukern::gpu {

/// axpby of numbers and of contiguous arrays of float32 and of the output's 16-bit type, aligned to
/// words of 16 bytes. Returns false for others, and for float64 numbers.
bool axpby_words(const AxpbyArgs& args, cudaStream_t stream);

}  // namespace gpukern::gpu

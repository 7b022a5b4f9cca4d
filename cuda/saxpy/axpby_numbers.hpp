// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include "src/core/operation.hpp"

namespace gpukern::gpu {

/// axpby of numbers a and b, and of arrays x and y of the result's dtype, as saxpy. Returns false
/// for others.
bool axpby_of_numbers(const AxpbyArgs& args, cudaStream_t stream);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What saxpy and saxpy_many share.
#pragma once

#include "src/runtime/call.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

/// Checks the arguments of a saxpy, and broadcasts the inputs to the shape of the output.
void check_saxpy(Argument& x, Argument& y, const Argument& out);

/// out = a * x + y of checked tensors, which are not empty. They may overlap.
void run_saxpy(const Call& call, const void* a, const Tensor& x, const Tensor& y, const Tensor& out,
               const gpukern_exec* exec, Progress& progress);

}  // namespace gpukern

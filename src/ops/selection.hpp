// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What operations that select by a mask share: checks, overlap, the choice of the device. Each
// operation adds its arguments.
#pragma once

#include "src/core/operation.hpp"
#include "src/ops/select_offload.hpp"
#include "src/runtime/call.hpp"

namespace gpukern {

/// Requires a dtype whose zeros are known by their bits.
void require_mask_dtype(const Argument& mask);

/// Checks the options and returns the fill value; nullptr for zero bytes.
const gpukern_tensor* checked_fill(const char* function, const gpukern_select_options* options);

/// The arguments that say what is selected, for the caller to complete.
SelectArgs mask_args(const Tensor& mask);

/// Runs a selection where the call says.
void run_selection(const Call& call, const char* function, const SelectOperands& operands,
                   const gpukern_exec* exec, const EnqueueSelection& enqueue);

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What operations that write to a target by an index share: checks, overlap, the choice of the
// device. Each operation adds its shapes and its loops.
#pragma once

#include "src/ops/gather_args.hpp"
#include "src/ops/index_checks.hpp"  // IWYU pragma: export
#include "src/ops/raveled_index.hpp"
#include "src/runtime/call.hpp"

namespace gpukern {

/// The tensors of a call; values have the shape of the updates, with stride 0 where they repeat.
struct WriteOperands {
  const Tensor& target;
  const Tensor& index;
  const Tensor& values;
};

/// Fills in the loops of the arguments: updates, columns, keys, and key_step.
using MakeWriteLoops = void (*)(const WriteOperands& operands, const Axis& axis, ScatterArgs& args);

/// An operation whose axis and index have been checked.
struct IndexedWrite {
  const char* function;  ///< its name in messages
  const Argument& target;
  const Argument& index;
  const Argument& values;
  const gpukern_tensor* out;  ///< NULL: the target itself
  Axis axis;
  Tensor shape;  ///< of all updates, to which the values broadcast
  MakeWriteLoops make_loops;
  RaveledIndex* tuple = nullptr;  ///< whose index() `index` is
};

/// Checks the options; NULL means the defaults.
const gpukern_scatter_options& checked_options(const char* function,
                                               const gpukern_scatter_options* options);

/// Checks values, out and, in mode "raise", the indices, and runs the operation on the device that
/// its arguments and `exec` determine.
void run_indexed_write(const IndexedWrite& write, const gpukern_scatter_options& options,
                       const gpukern_exec* exec);

}  // namespace gpukern

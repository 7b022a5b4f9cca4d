// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What operations that reduce bags of items share: checks, overlap, the choice of the device. Each
// operation adds its arguments.
#pragma once

#include "src/ops/gather_args.hpp"
#include "src/ops/index_checks.hpp"  // IWYU pragma: export
#include "src/runtime/call.hpp"

namespace gpukern {

struct IndexedReduction {
  const char* function;     ///< its name in messages
  const char* source_name;  ///< likewise
  const Argument& source;
  const Argument* index;  ///< nullptr: the items are those of the source, in order
  const Argument& offsets;
  const Argument* weights;  ///< nullptr for none
  const Argument& out;
  std::int32_t axis;
};

/// Checks everything and runs the operation on the device that its arguments and `exec` determine.
void run_indexed_reduction(const IndexedReduction& reduction,
                           const gpukern_gather_reduce_options* options, const gpukern_exec* exec);

}  // namespace gpukern

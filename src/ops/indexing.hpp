// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What operations that read items of a source by an index share besides their checks: overlap, and
// the choice of the device. Each operation adds its shapes and its loop.
#pragma once

#include "src/ops/gather_args.hpp"
#include "src/ops/index_checks.hpp"  // IWYU pragma: export
#include "src/runtime/call.hpp"

namespace gpukern {

class RaveledIndex;

/// An operation whose dtypes and shapes have been checked.
struct IndexedRead {
  const char* function;  ///< its name in messages
  const Argument& source;
  const Argument& index;
  const Argument& out;
  Axis axis;
  MakeLoop make_loop;
  bool checks_indices;            ///< in mode "raise"; NumPy's functions differ if nothing is read
  RaveledIndex* tuple = nullptr;  ///< whose index() `index` is, not computed yet
};

/// Checks the fill value and, in mode "raise", the indices, and runs the operation on the device
/// that its arguments and `exec` determine.
void run_indexed(const IndexedRead& read, const gpukern_gather_options& options,
                 const gpukern_exec* exec);

}  // namespace gpukern

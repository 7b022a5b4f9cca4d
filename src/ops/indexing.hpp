// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What operations that read items of a source by an index share: axis, options, index dtype and
// bounds, fill value, overlap, and the choice of the device. Each operation adds its shapes and its
// loop.
#pragma once

#include <cstdint>

#include "src/ops/gather_args.hpp"
#include "src/runtime/call.hpp"

namespace gpukern {

/// Checks an axis of the source, which may be GPUKERN_AXIS_NONE.
Axis checked_axis(const Tensor& source, std::int32_t axis);

/// Checks the options; NULL means the defaults.
const gpukern_gather_options& checked_options(const char* function,
                                              const gpukern_gather_options* options);

/// Requires an integer dtype.
void require_index_dtype(const Argument& index);

/// Requires the source's dtype, the shape of `expected`, and elements that do not overlap.
void require_indexed_out(const Argument& out, const Tensor& source, const Tensor& expected);

/// An operation whose dtypes and shapes have been checked.
struct IndexedRead {
  const char* function;  ///< its name in messages
  const Argument& source;
  const Argument& index;
  const Argument& out;
  Axis axis;
  MakeLoop make_loop;
  bool checks_indices;  ///< in mode "raise"; NumPy's functions differ if nothing is read
};

/// Checks the fill value and, in mode "raise", the indices, and runs the operation on the device
/// that its arguments and `exec` determine.
void run_indexed(const IndexedRead& read, const gpukern_gather_options& options,
                 const gpukern_exec* exec);

}  // namespace gpukern

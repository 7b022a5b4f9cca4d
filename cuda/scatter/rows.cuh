// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The columns of an update: operands of cuda/common/elements.cuh's RowColumns.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

static_assert(kTargetColumn == 0 && kValueColumn == 1, "the operands of RowColumns");

/// Whether the columns are vectors of kCount elements, contiguous and aligned to such.
template <class T, int kCount>
bool has_column_vectors(const ScatterArgs& args, std::int64_t columns) {
  return are_vectors<T, kCount>(args.columns, columns) &&
         is_aligned(args, alignof(Vector<T, kCount>), false);
}

/// Threads that work on one update, which access its columns in this number of parts.
inline int lanes_of(std::int64_t parts) {
  return static_cast<int>(
      std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(parts)), 32));
}

}  // namespace gpukern::gpu

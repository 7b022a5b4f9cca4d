// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The columns of an update: operands of cuda/common/elements.cuh's RowColumns.
#pragma once

#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

static_assert(kTargetColumn == 0 && kValueColumn == 1, "the operands of RowColumns");

/// Whether the columns are vectors of kCount elements, contiguous and aligned to such.
template <class T, int kCount>
bool has_column_vectors(const ScatterArgs& args, std::int64_t columns) {
  return are_vectors<T, kCount>(args.columns, columns) &&
         is_aligned(args, alignof(Vector<T, kCount>), false);
}

}  // namespace gpukern::gpu

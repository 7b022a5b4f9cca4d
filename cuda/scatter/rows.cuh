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

/// Threads that work on one update, whose columns take this number of accesses.
inline int lanes_of(std::int64_t accesses, std::uint64_t most = 32) {
  return static_cast<int>(std::min(std::bit_ceil(static_cast<std::uint64_t>(accesses)), most));
}

/// Divides the columns of each update among enough thread blocks to fill the GPU.
/// Returns the grid of a kernel whose groups of `lanes` threads visit those from begin() to end().
template <int kCount>
Grid divide_columns(RowColumns<kCount>& columns, int lanes, Grid grid) {
  constexpr std::int64_t kLeastAccesses = 8;  // of a thread
  constexpr std::int64_t kMostParts = 65535;
  const std::int64_t together = std::int64_t{lanes} * kCount;
  const std::int64_t wanted = resident_grid() * kThreads / (grid.blocks * grid.threads);
  const std::int64_t parts = std::clamp<std::int64_t>(
      std::min(wanted, columns.count / (together * kLeastAccesses)), 1, kMostParts);
  if (parts == 1) return grid;
  columns.part = ceil_divide(ceil_divide(columns.count, parts), together) * together;
  grid.parts = static_cast<int>(ceil_divide(columns.count, columns.part));
  return grid;
}

}  // namespace gpukern::gpu

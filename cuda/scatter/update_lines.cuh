// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The updates of a call as lines along the axis.
#pragma once

#include <optional>

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

/// Operands of UpdateLines::lines, all in bytes.
enum LineOperand { kLineIndex, kLineValue, kLineElement };

/// Lines of updates along the axis.
struct UpdateLines {
  IndexReader index;
  const std::byte* values;
  std::byte* target;
  LoopOffsets<3> lines;
  std::int64_t count;       ///< lines
  int length;               ///< updates of a line
  std::int64_t step[3];     ///< along the axis
  std::int64_t between[3];  ///< from line to line in their innermost dimension
};

/// The lines of a call, in the order of the target's memory; none if its updates have no such
/// structure.
std::optional<UpdateLines> update_lines(const ScatterCall& call);

/// Single values of which few along the axis have keys that may be equal.
bool has_few_along(const ScatterCall& call, const UpdateLines& lines);
void scatter_along(const ScatterCall& call, const UpdateLines& lines);
/// Contiguous lines of fewer than kBlockValues updates, each of which a warp combines.
bool has_lines(const ScatterCall& call, const UpdateLines& lines);
void scatter_lines(const ScatterCall& call, const UpdateLines& lines);
/// Lines along an axis that is not the innermost: puts, and reductions of few elements.
bool has_strided_lines(const ScatterCall& call, const UpdateLines& lines);
void scatter_strided_lines(const ScatterCall& call, const UpdateLines& lines);

}  // namespace gpukern::gpu

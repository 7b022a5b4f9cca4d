// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// From the operands of an indexed read to the loop that devices execute.
#pragma once

#include <cstdint>

#include "src/core/operation.hpp"
#include "src/core/slices.hpp"
#include "src/core/tensor.hpp"

namespace gpukern {

/// The normalized axis: the source's dimensions [first, last) are indexed together.
struct Axis {
  int number;
  int first;
  int last;
  std::int64_t n;
};

inline IndexType index_type(const Tensor& index) {
  return {static_cast<std::int32_t>(index.item), index.dtype.code == GPUKERN_INT};
}

struct GatherOperands {
  const Tensor& source;
  const Tensor& index;
  const Tensor& out;
  const Tensor& fill_value;
};

/// Appends the dimensions of `out` with the strides of each operand; the source's stride is 0 along
/// the axis. In a dimension with a nonzero stride of the index, the stride of the fill value is 0.
using MakeLoop = void (*)(const GatherOperands& operands, const Axis& axis, Loop<4>& loop);

/// The loop of gather: out[a, i, b] = source[a, index[i], b].
void gather_loop(const GatherOperands& operands, const Axis& axis, Loop<4>& loop);

/// The arguments for single elements; join_items() must be called before a device uses them.
GatherArgs gather_args(const GatherOperands& operands, const Axis& axis, gpukern_index_mode mode,
                       MakeLoop make_loop);

/// Makes items as long as possible: merges contiguous inner dimensions into the item.
void join_items(GatherArgs& args);

/// A slice of the loop over all elements, with the part of the fill value that it uses.
GatherArgs part_of(const GatherArgs& args, const Slice<4>& slice);

}  // namespace gpukern

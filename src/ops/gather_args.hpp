// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// From the operands of an indexed read to what devices loop over.
#pragma once

#include <cstdint>

#include "src/core/operation.hpp"
#include "src/core/slices.hpp"
#include "src/core/tensor.hpp"

namespace gpukern {

/// The axis, normalised: the source's dimensions [first, last) are indexed together.
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

/// Pushes the dimensions of `out` with the strides that each operand has along them; the source's
/// is 0 along the axis. Where the index moves, the fill value does not.
using MakeLoop = void (*)(const GatherOperands& operands, const Axis& axis, Loop<4>& loop);

/// The arguments for all elements; join_items() makes them ready for a device.
GatherArgs gather_args(const GatherOperands& operands, const Axis& axis, gpukern_index_mode mode,
                       MakeLoop make_loop);

/// Makes items as long as they can be: an inner dimension without gaps joins the item.
void join_items(GatherArgs& args);

/// A slice of the loop over all elements, with the part of the fill value that it uses.
GatherArgs part_of(const GatherArgs& args, const Slice<4>& slice);

}  // namespace gpukern

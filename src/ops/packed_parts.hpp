// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Parts of host arrays whose operands are packed into one piece of memory, a chunk of a pipeline.
//
// An operand of a part has columns, and between the outer and the inner ones its positions along
// the axis. It is packed in this order, which is that of its memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/core/slices.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/pipeline_tuning.hpp"

namespace gpukern {

/// The alignment of operands in a chunk: the widest access of a GPU thread.
constexpr std::int64_t part_aligned(std::int64_t bytes) { return (bytes + 15) / 16 * 16; }

/// The bytes of a chunk, of which kSlots fit in `limit` bytes of device memory.
inline std::int64_t packed_chunk(std::int64_t limit) {
  const std::int64_t share = limit / kSlots / kChunkAlignment * kChunkAlignment;
  return std::clamp(share, kChunkAlignment, kFullOperands * kStagedChunk);
}

/// The number of columns' dimensions that are outside of positions with this stride.
inline int outer_dimensions(const Loop<2>& columns, int operand, std::int64_t stride) {
  const auto size = [](std::int64_t step) { return step < 0 ? -step : step; };
  int outer = 0;
  while (outer < columns.ndim && size(columns.stride[operand][outer]) > size(stride)) ++outer;
  return outer;
}

/// An operand in host memory.
inline Layout part_layout(const Loop<2>& columns, int operand, int outer, std::int64_t item,
                          const Loop<1>& positions) {
  Layout layout{item, {}};
  for (int d = 0; d < outer; ++d) layout.loop.push(columns.extent[d], {columns.stride[operand][d]});
  for (int d = 0; d < positions.ndim; ++d)
    layout.loop.push(positions.extent[d], {positions.stride[0][d]});
  for (int d = outer; d < columns.ndim; ++d)
    layout.loop.push(columns.extent[d], {columns.stride[operand][d]});
  layout.loop.coalesce();
  return layout;
}

/// Gives the columns of an operand the strides of its packed part. Returns the stride of its
/// `count` positions.
inline std::int64_t pack_columns(Loop<2>& columns, int operand, int outer, std::int64_t item,
                                 std::int64_t count) {
  std::int64_t bytes = item;
  std::int64_t position = 0;
  for (int d = columns.ndim; d >= 0; --d) {
    if (d < columns.ndim) {
      columns.stride[operand][d] = bytes;
      bytes *= columns.extent[d];
    }
    if (d != outer) continue;
    position = bytes;
    bytes *= count;
  }
  return position;
}

/// One dimension.
inline Loop<1> positions_of(std::int64_t count, std::int64_t stride) {
  Loop<1> loop;
  loop.push(count, {stride});
  return loop;
}

/// Calls visit(slice) for two halves of a slice, or three.
template <class Visit>
void halve(const Slice<2>& slice, const Visit& visit) {
  const Slices<2> halves(slice.loop, (slice.loop.count() + 1) / 2);
  for (std::int64_t k = 0; k < halves.count(); ++k) {
    Slice<2> half = halves[k];
    for (std::size_t operand = 0; operand < 2; ++operand)
      half.offset[operand] += slice.offset[operand];
    visit(half);
  }
}

}  // namespace gpukern

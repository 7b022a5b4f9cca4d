// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/rows_small.cuh"

namespace gpukern::gpu {

void gather_few_rows(const DirectCall& call) {
  const GatherArgs& args = call.args;
  const Rows& rows = call.rows;
  const std::int64_t chunks = args.item / rows.width;
  const std::int64_t total = rows.outer * rows.count * chunks;
  const Grid grid{ceil_divide(total, kThreads), kThreads, 0, true};
  const Divisor by_chunks(static_cast<std::uint32_t>(chunks));
  const auto count = static_cast<std::uint32_t>(rows.count);
  const OuterArgs outer{.stride = rows.outer_stride,
                        .total = static_cast<std::uint32_t>(total),
                        .count = Divisor(count)};
  visit_chunk(rows.width, [&](auto chunk) {
    visit_index_width(args.index_type.bytes, [&](auto raw) {
      using Chunk = decltype(chunk);
      using Raw = decltype(raw);
      const Bounds<Raw> bounds(args);
      launch(gather_few_rows_kernel<Chunk, Raw>, grid, call.stream,
             reinterpret_cast<const Raw*>(args.index), args.source, rows.axis_stride, by_chunks,
             count, bounds.last, reinterpret_cast<Chunk*>(args.out), outer, bounds, call.fill);
    });
  });
}

}  // namespace gpukern::gpu

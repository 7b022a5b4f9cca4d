// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gather_shifted.cuh"

namespace gpukern::gpu {
void gather_shifted_rows(const DirectCall& call) {
  const GatherArgs& args = call.args;
  const Rows& rows = call.rows;
  // The source's bytes: from the first of any row to the last of any row.
  const std::byte* begin = args.source;
  const std::byte* end = args.source + args.item;
  for (const std::int64_t reach :
       {(rows.outer - 1) * rows.outer_stride, (args.n - 1) * rows.axis_stride})
    (reach < 0 ? begin : end) += reach;
  const ShiftedArgs shifted{.source = args.source,
                            .source_begin = begin,
                            .source_end = end,
                            .index = args.index,
                            .out = args.out,
                            .outer_stride = rows.outer_stride,
                            .axis_stride = rows.axis_stride,
                            .item = args.item,
                            .total = rows.outer * rows.count * args.item,
                            .bytes = Turn(args.item),
                            .count = Turn(rows.count)};
  const int threads = call.tuning.threads;
  const std::int64_t per_block = std::int64_t{threads} * kShiftedWords * 16;
  const Grid grid{ceil_divide(shifted.total, per_block), threads};
  visit_index_width(args.index_type.bytes, [&](auto raw) {
    using Raw = decltype(raw);
    launch(gather_shifted_kernel<Raw, kShiftedWords>, grid, call.stream, shifted, Bounds<Raw>(args),
           call.fill);
  });
}

}  // namespace gpukern::gpu

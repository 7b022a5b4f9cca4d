// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/last_axis.cuh"

namespace gpukern::gpu {

bool gather_inner_items(const DirectCall& call) {
  const GatherArgs& args = call.args;
  const Rows& rows = call.rows;
  if (rows.outer < call.tuning.inner_from || rows.count < call.tuning.inner_count_from ||
      args.n > call.tuning.inner_sparse * rows.count ||
      args.n * args.item > call.tuning.inner_row_to)
    return false;
  visit_chunk(rows.width, [&](auto item) {
    using Item = decltype(item);
    constexpr int kCount = kVectorItems<Item>;
    constexpr std::int64_t kAligned = alignof(Vector<Item, kCount>);
    const int threads = call.tuning.threads;
    const std::int64_t per_block = call.tuning.inner_per_block;
    const InnerArgs inner{.source = args.source,
                          .index = args.index,
                          .out = args.out,
                          .outer = rows.outer,
                          .outer_stride = rows.outer_stride,
                          .axis_stride = rows.axis_stride,
                          .count = rows.count,
                          .tiles = ceil_divide(rows.count, std::int64_t{threads} * kCount),
                          .outer_per_block = per_block,
                          .type = args.index_type,
                          .vectors = alignment_of(args.out) >= kAligned &&
                                     alignment_of(rows.count * args.item) >= kAligned};
    launch(gather_inner_kernel<Item, kCount, kInnerRows>,
           Grid{inner.tiles * ceil_divide(rows.outer, per_block), threads}, call.stream, inner,
           Bounds<std::uint64_t>(args), call.fill);
  });
  return true;
}

}  // namespace gpukern::gpu

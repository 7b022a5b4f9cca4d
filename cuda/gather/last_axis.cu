// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/last_axis.cuh"

namespace gpukern::gpu {

void run_last_axis(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const Rows& rows = call.problem.rows;
  visit_word(call.problem.width, [&](auto item) {
    using Item = decltype(item);
    constexpr int kCount = kVectorItems<Item>;
    constexpr std::int64_t kAligned = alignof(Vector<Item, kCount>);
    const int threads = call.problem.tuning.threads;
    const std::int64_t per_block = call.problem.tuning.last_axis_per_block;
    const LastAxisArgs last_axis{.source = args.source,
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
    launch(gather_last_axis_kernel<Item, kCount, kLastAxisRows>,
           Grid{last_axis.tiles * ceil_divide(rows.outer, per_block), threads}, call.stream,
           last_axis, bounds_of<std::uint64_t>(args), call.fill);
  });
}

}  // namespace gpukern::gpu

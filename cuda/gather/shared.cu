// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/shared.cuh"

namespace gpukern::gpu {
namespace {

template <int kWords>
void launch_shared(const GatherLaunch& call) {
  const GatherProblem& problem = call.problem;
  const GatherArgs& args = problem.args;
  const Rows& rows = problem.rows;
  const int threads = problem.tuning.shared_threads;
  const std::int64_t tile = std::int64_t{threads} * kWords * 16;
  const SharedArgs shared{.source = args.source,
                          .memory = source_range(args, rows),
                          .index = args.index,
                          .out = args.out,
                          .outer_stride = rows.outer_stride,
                          .axis_stride = rows.axis_stride,
                          .item = args.item,
                          .total = rows.outer * rows.count * args.item,
                          .bytes = FastDivmod<std::int64_t>(args.item),
                          .words = FastDivmod<std::int64_t>(max_words(std::min(args.item, tile))),
                          .count = FastDivmod<std::int64_t>(rows.count)};
  const Grid grid{ceil_divide(shared.total, tile), threads,
                  static_cast<std::size_t>(tile_shared_bytes(args.item, tile)), true};
  visit_index_width(args.index_type.bytes, [&](auto raw) {
    using Raw = decltype(raw);
    launch(gather_shared_kernel<Raw, kWords>, grid, call.stream, shared, bounds_of<Raw>(args),
           call.fill);
  });
}

}  // namespace

void run_shared(const GatherLaunch& call) {
  if (call.problem.args.item < call.problem.tuning.shared_long)
    launch_shared<kSharedWordsShort>(call);
  else
    launch_shared<kSharedWordsLong>(call);
}

}  // namespace gpukern::gpu

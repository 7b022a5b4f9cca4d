// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/rows_small.cuh"

namespace gpukern::gpu {

void run_rows_small(const GatherLaunch& call) {
  const GatherProblem& problem = call.problem;
  const GatherArgs& args = problem.args;
  const std::int64_t total = problem.words();
  const Grid grid{ceil_divide(total, kThreads), kThreads, 0, true};
  const FastDivmod<std::uint32_t> words(static_cast<std::uint32_t>(args.item / problem.width));
  const auto count = static_cast<std::uint32_t>(problem.rows.count);
  const OuterArgs outer{.stride = problem.rows.outer_stride,
                        .total = static_cast<std::uint32_t>(total),
                        .count = FastDivmod<std::uint32_t>(count)};
  visit_types(problem, [&](auto word, auto raw) {
    using W = decltype(word);
    using Raw = decltype(raw);
    const auto bounds = bounds_of<Raw>(args);
    launch(gather_rows_small_kernel<W, Raw>, grid, call.stream,
           reinterpret_cast<const Raw*>(args.index), args.source, problem.rows.axis_stride, words,
           count, bounds.last, reinterpret_cast<W*>(args.out), outer, bounds, call.fill);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/rows.cuh"

namespace gpukern::gpu {

void run_rows(const GatherLaunch& call) {
  const GatherProblem& problem = call.problem;
  const GatherArgs& args = problem.args;
  const std::int64_t total = problem.words();
  const RowArgs row_args{.source = args.source,
                         .index = args.index,
                         .out = args.out,
                         .outer_stride = problem.rows.outer_stride,
                         .axis_stride = problem.rows.axis_stride,
                         .total = total,
                         .words = FastDivmod<std::int64_t>(args.item / problem.width),
                         .count = FastDivmod<std::int64_t>(problem.rows.count)};
  const int threads = problem.tuning.threads;
  // Over PCIe, more reads in flight miss the translation tables of host addresses more often, so
  // only one block runs on a multiprocessor: it uses all shared memory.
  // Measured: benchmarks/notes/gather.md#rows-of-host-memory.
  const std::int64_t shared =
      args.in_place ? device_facts().shared_bytes - kDeclaredSharedBytes : 0;
  const std::int64_t blocks = ceil_divide(total, std::int64_t{threads} * kRowWords);
  const Grid grid{blocks, threads, static_cast<std::size_t>(shared), true};
  visit_types(problem, [&](auto word, auto raw) {
    using Raw = decltype(raw);
    launch(gather_rows_kernel<decltype(word), Raw, kRowWords>, grid, call.stream, row_args,
           bounds_of<Raw>(args), call.fill);
  });
}

}  // namespace gpukern::gpu

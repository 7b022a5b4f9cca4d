// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>

#include "cuda/gather/sorted_sparse.cuh"

namespace gpukern::gpu {
namespace {

template <class Item, class Raw>
void launch_sorted_sparse(const GatherLaunch& call) {
  const GatherProblem& problem = call.problem;
  const auto bounds = bounds_of<Raw>(problem.args);
  const GatherTuning& tuning = problem.tuning;
  auto* const sample = static_cast<SortedSample*>(call.scratch);
  const std::int64_t least =
      ceil_divide((kSampleRun - 1) * tuning.sorted_sparse_step, std::abs(problem.rows.axis_stride));
  launch(sorted_sparse_sample_kernel<Raw>, Grid{1, kSampleRuns, 0, true}, call.stream,
         reinterpret_cast<const Raw*>(problem.args.index), problem.rows.count,
         static_cast<Raw>(least), sample);
  launch(gather_sorted_sparse_kernel<Item, Raw>,
         Grid{std::int64_t{device_facts().multiprocessors} * kSortedSparseBlocks,
              kSortedSparseThreads, 0, true},
         call.stream, ItemArgs(problem), bounds, call.fill, sample);
  const std::int64_t items = std::int64_t{tuning.item_threads} * kItemVectors * kVectorItems<Item>;
  launch(gather_not_sorted_sparse_kernel<Item, Raw>,
         Grid{ceil_divide(problem.rows.count, items), tuning.item_threads, 0, true}, call.stream,
         ItemArgs(problem), bounds, call.fill, static_cast<const SortedSample*>(sample));
}

}  // namespace

std::int64_t sorted_sparse_scratch_bytes(const GatherProblem& /*problem*/) {
  return sizeof(SortedSample);
}

void run_sorted_sparse(const GatherLaunch& call) {
  visit_word(call.problem.width, [&](auto item) {
    using Item = decltype(item);
    if (call.problem.args.index_type.bytes == 4)
      launch_sorted_sparse<Item, std::uint32_t>(call);
    else
      launch_sorted_sparse<Item, std::uint64_t>(call);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/items.cuh"

namespace gpukern::gpu {
namespace {

template <class Item, class Raw, int kCount, int kVectors>
void launch_items(const GatherLaunch& call, int threads) {
  const GatherProblem& problem = call.problem;
  const std::int64_t blocks =
      ceil_divide(problem.rows.count, std::int64_t{threads} * kVectors * kCount);
  launch(gather_items_kernel<Item, Raw, kCount, kVectors>, Grid{blocks, threads, 0, true},
         call.stream, ItemArgs(problem), bounds_of<Raw>(problem.args), call.fill);
}

}  // namespace

void run_items_small(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const std::int64_t count = call.problem.rows.count;
  const Grid grid{ceil_divide(count, kThreads), kThreads, 0, true};
  visit_types(call.problem, [&](auto item, auto raw) {
    using Item = decltype(item);
    using Raw = decltype(raw);
    const auto bounds = bounds_of<Raw>(args);
    launch(gather_items_small_kernel<Item, Raw>, grid, call.stream,
           reinterpret_cast<const Raw*>(args.index), reinterpret_cast<const Item*>(args.source),
           reinterpret_cast<Item*>(args.out), static_cast<unsigned>(count), bounds.last, bounds,
           call.fill);
  });
}

void run_items_single(const GatherLaunch& call) {
  visit_types(call.problem, [&](auto item, auto raw) {
    launch_items<decltype(item), decltype(raw), 1, 1>(call, kThreads);
  });
}

void run_items_pairs(const GatherLaunch& call) {
  visit_types(call.problem, [&](auto item, auto raw) {
    constexpr int kPair = pair_items(sizeof(item));
    launch_items<decltype(item), decltype(raw), kPair, 1>(call, call.problem.tuning.pair_threads);
  });
}

void run_items_vectors(const GatherLaunch& call) {
  visit_types(call.problem, [&](auto item, auto raw) {
    using Item = decltype(item);
    launch_items<Item, decltype(raw), kVectorItems<Item>, kItemVectors>(
        call, call.problem.tuning.item_threads);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/last_axis_shared.cuh"

namespace gpukern::gpu {
namespace {

/// Threads along the index: a power of two, not much more than there are vectors.
int threads_across(std::int64_t count, int vector, int threads) {
  int across = 1;
  while (across < threads && std::int64_t{across} * vector < count) across *= 2;
  return across;
}

}  // namespace

void run_last_axis_shared(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const Rows& rows = call.problem.rows;
  const GatherTuning& tuning = call.problem.tuning;
  const std::int64_t held = call.problem.last_axis_held();
  const std::int64_t bytes_held = held * args.item;
  const std::int64_t words = max_words(bytes_held);
  // As many rows as the shared memory takes, unless too few blocks would be left.
  const std::int64_t bytes =
      args.item < 4 ? tuning.last_axis_shared_narrow_bytes : tuning.last_axis_shared_bytes;
  const std::int64_t rows_per_block = std::max<std::int64_t>(
      std::min(bytes / (words * 16), rows.outer / tuning.last_axis_shared_blocks), 1);
  const bool large = call.problem.last_axis_is_large();
  const int threads = large ? kLastAxisSharedLargeThreads
                      : bytes_held > tuning.last_axis_shared_long
                          ? tuning.last_axis_shared_long_threads
                          : tuning.threads;
  const Grid grid{ceil_divide(rows.outer, rows_per_block), threads,
                  static_cast<std::size_t>(rows_per_block * words * 16)};
  visit_types(call.problem, [&](auto item, auto raw) {
    using Item = decltype(item);
    using Raw = decltype(raw);
    constexpr int kCount = kVectorItems<Item>;
    const LastAxisSharedArgs last_axis{.source = args.source,
                                       .memory = source_range(args, rows),
                                       .index = args.index,
                                       .out = args.out,
                                       .outer = rows.outer,
                                       .outer_stride = rows.outer_stride,
                                       .held = held,
                                       .count = rows.count,
                                       .rows = rows_per_block,
                                       .words = FastDivmod<std::int64_t>(words),
                                       .words_of_row = static_cast<int>(words),
                                       .across = threads_across(rows.count, kCount, threads),
                                       .vectors = call.problem.aligned_to_vectors(kCount) &&
                                                  alignment_of(rows.count * args.item) >=
                                                      std::int64_t{alignof(Vector<Item, kCount>)}};
    const auto kernel = large ? gather_last_axis_shared_kernel<Item, Raw, kCount, true>
                              : gather_last_axis_shared_kernel<Item, Raw, kCount, false>;
    launch(kernel, grid, call.stream, last_axis, bounds_of<Raw>(args), call.fill);
  });
}

}  // namespace gpukern::gpu

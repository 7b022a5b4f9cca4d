// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/last_axis_shared.cuh"

namespace gpukern::gpu {
namespace {

/// Threads along the index: a power of two, no more than its vectors ask for.
int threads_across(std::int64_t count, int vector, int threads) {
  int across = 1;
  while (across < threads && std::int64_t{across} * vector < count) across *= 2;
  return across;
}

}  // namespace

bool gather_inner_staged(const DirectCall& call) {
  const auto& [args, rows, fill, tuning, stream] = call;
  const std::int64_t row = args.n * args.item;
  if (rows.axis_stride != args.item || row < tuning.inner_staged_from ||
      row > tuning.inner_staged_to || row > tuning.inner_staged_sparse * rows.count ||
      rows.outer < tuning.inner_staged_blocks)
    return false;
  const std::int64_t words = most_words(row);
  // As many rows as the shared memory takes, unless too few blocks would be left.
  const std::int64_t bytes =
      args.item < 4 ? tuning.inner_staged_narrow_bytes : tuning.inner_staged_bytes;
  const std::int64_t rows_per_block = std::max<std::int64_t>(
      std::min(bytes / (words * 16), rows.outer / tuning.inner_staged_blocks), 1);
  const int threads =
      row > tuning.inner_staged_long ? tuning.inner_staged_long_threads : tuning.threads;
  const Grid grid{ceil_divide(rows.outer, rows_per_block), threads,
                  static_cast<std::size_t>(rows_per_block * words * 16)};
  visit_chunk(rows.width, [&](auto item) {
    visit_index_width(args.index_type.bytes, [&](auto raw) {
      using Item = decltype(item);
      using Raw = decltype(raw);
      constexpr int kCount = kVectorItems<Item>;
      constexpr std::int64_t kAligned = alignof(Vector<Item, kCount>);
      const InnerStagedArgs staged{
          .source = args.source,
          .memory = source_span(args, rows),
          .index = args.index,
          .out = args.out,
          .outer = rows.outer,
          .outer_stride = rows.outer_stride,
          .row = row,
          .count = rows.count,
          .rows = rows_per_block,
          .words = Turn(words),
          .words_of_row = static_cast<int>(words),
          .across = threads_across(rows.count, kCount, threads),
          .vectors = alignment_of(args.index) >= std::int64_t{alignof(Vector<Raw, kCount>)} &&
                     alignment_of(args.out) >= kAligned &&
                     alignment_of(rows.count * args.item) >= kAligned};
      launch(gather_inner_staged_kernel<Item, Raw, kCount>, grid, stream, staged, Bounds<Raw>(args),
             fill);
    });
  });
  return true;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/shared.cuh"

namespace gpukern::gpu {

namespace {

template <int kWords>
void gather_tiles(const DirectCall& call) {
  const GatherArgs& args = call.args;
  const Rows& rows = call.rows;
  const int threads = call.tuning.staged_threads;
  const std::int64_t tile = std::int64_t{threads} * kWords * 16;
  const StagedArgs staged{.source = args.source,
                          .memory = source_span(args, rows),
                          .index = args.index,
                          .out = args.out,
                          .outer_stride = rows.outer_stride,
                          .axis_stride = rows.axis_stride,
                          .item = args.item,
                          .total = rows.outer * rows.count * args.item,
                          .bytes = Turn(args.item),
                          .words = Turn(most_words(std::min(args.item, tile))),
                          .count = Turn(rows.count)};
  const auto shared = static_cast<std::size_t>(staged_shared_bytes(args.item, tile));
  const std::int64_t blocks = ceil_divide(staged.total, tile);
  const Grid grid{blocks, threads, shared, true};
  visit_index_width(args.index_type.bytes, [&](auto raw) {
    using Raw = decltype(raw);
    launch(gather_staged_kernel<Raw, kWords>, grid, call.stream, staged, Bounds<Raw>(args),
           call.fill);
  });
}

}  // namespace

void gather_staged_rows(const DirectCall& call) {
  if (call.args.item < call.tuning.staged_long)
    gather_tiles<kStagedWordsShort>(call);
  else
    gather_tiles<kStagedWordsLong>(call);
}

}  // namespace gpukern::gpu

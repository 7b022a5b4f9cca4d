// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/rows.cuh"

namespace gpukern::gpu {

void gather_rows(const DirectCall& call) {
  const GatherArgs& args = call.args;
  const Rows& rows = call.rows;
  const std::int64_t chunks = args.item / rows.width;
  const std::int64_t total = rows.outer * rows.count * chunks;
  const RowArgs row_args{.source = args.source,
                         .index = args.index,
                         .out = args.out,
                         .outer_stride = rows.outer_stride,
                         .axis_stride = rows.axis_stride,
                         .total = total,
                         .chunks = Turn(chunks),
                         .count = Turn(rows.count)};
  const int threads = call.tuning.threads;
  // Over PCIe few reads in flight are enough, and more of them miss the tables that translate host
  // addresses: one block a multiprocessor. H200, random rows of 1 KiB 38 GB/s, of all blocks that
  // fit 30; the link makes 55.
  const std::int64_t alone = device_facts().shared_bytes - kDeclaredSharedBytes;
  const std::int64_t blocks = ceil_divide(total, std::int64_t{threads} * kRowChunks);
  const Grid grid{blocks, threads, args.in_place ? static_cast<std::size_t>(alone) : 0, true};
  visit_chunk(rows.width, [&](auto chunk) {
    visit_index_width(args.index_type.bytes, [&](auto raw) {
      using Raw = decltype(raw);
      launch(gather_rows_kernel<decltype(chunk), Raw, kRowChunks>, grid, call.stream, row_args,
             Bounds<Raw>(args), call.fill);
    });
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gather_items.cuh"

namespace gpukern::gpu {

bool gather_items(const DirectCall& call) {
  const GatherArgs& args = call.args;
  bool fits = false;
  visit_chunk(call.rows.width, [&](auto item) {
    visit_index_width(args.index_type.bytes, [&](auto raw) {
      using Item = decltype(item);
      using Raw = decltype(raw);
      constexpr int kCount = kVectorItems<Item>;
      fits = alignment_of(args.index) >= std::int64_t{alignof(Vector<Raw, kCount>)} &&
             alignment_of(args.out) >= std::int64_t{alignof(Vector<Item, kCount>)};
      if (!fits) return;
      const ItemArgs item_args{.source = args.source,
                               .index = args.index,
                               .out = args.out,
                               .axis_stride = call.rows.axis_stride,
                               .count = call.rows.count};
      const int threads = call.tuning.item_threads;
      const std::int64_t per_block = std::int64_t{threads} * kItemVectors * kCount;
      launch(gather_items_kernel<Item, Raw, kCount, kItemVectors>,
             Grid{ceil_divide(call.rows.count, per_block), threads}, call.stream, item_args,
             Bounds<Raw>(args), call.fill);
    });
  });
  return fits;
}

}  // namespace gpukern::gpu

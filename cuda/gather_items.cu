// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "gather_items.cuh"

namespace gpukern::gpu {

namespace {

ItemArgs item_args(const DirectCall& call, const unsigned* condition) {
  return {.source = call.args.source,
          .index = call.args.index,
          .out = call.args.out,
          .axis_stride = call.rows.axis_stride,
          .count = call.rows.count,
          .condition = condition};
}

}  // namespace

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
      const int threads = call.tuning.threads;
      const std::int64_t per_block = std::int64_t{threads} * kItemVectors * kCount;
      launch(gather_items_kernel<Item, Raw, kCount, kItemVectors>,
             Grid{ceil_divide(call.rows.count, per_block), threads}, call.stream,
             item_args(call, nullptr), Bounds<Raw>(args), call.fill);
    });
  });
  return fits;
}

void gather_items_if(const DirectCall& call, const unsigned* condition) {
  visit_chunk(std::min<std::int64_t>(call.rows.width, 8), [&](auto item) {
    visit_index_width(std::max(call.args.index_type.bytes, 4), [&](auto raw) {
      using Item = decltype(item);
      using Raw = decltype(raw);
      if constexpr (sizeof(Item) <= 8 && sizeof(Raw) >= 4) {
        launch(gather_items_if_kernel<Item, Raw, kVectorItems<Item>, kItemVectors>,
               Grid{call.tuning.partition.direct_blocks, kThreads, 0, true}, call.stream,
               item_args(call, condition), Bounds<Raw>(call.args), call.fill);
      }
    });
  });
}

}  // namespace gpukern::gpu

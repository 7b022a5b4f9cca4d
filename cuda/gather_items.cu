// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

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

template <class Item, class Raw, int kCount, int kVectors>
bool launch_items(const DirectCall& call, int threads) {
  if (alignment_of(call.args.index) < std::int64_t{alignof(Vector<Raw, kCount>)} ||
      alignment_of(call.args.out) < std::int64_t{alignof(Vector<Item, kCount>)})
    return false;
  const std::int64_t per_block = std::int64_t{threads} * kVectors * kCount;
  launch(gather_items_kernel<Item, Raw, kCount, kVectors>,
         Grid{ceil_divide(call.rows.count, per_block), threads}, call.stream,
         item_args(call, nullptr), Bounds<Raw>(call.args), call.fill);
  return true;
}

}  // namespace

bool gather_items(const DirectCall& call) {
  const GatherTuning& tuning = call.tuning;
  bool served = false;
  visit_chunk(call.rows.width, [&](auto item) {
    visit_index_width(call.args.index_type.bytes, [&](auto raw) {
      using Item = decltype(item);
      using Raw = decltype(raw);
      constexpr int kCount = kVectorItems<Item>;
      if (call.rows.count < tuning.few_items)
        served = launch_items<Item, Raw, 1, 1>(call, tuning.few_threads);
      else if (call.args.n / tuning.sparse_ratio >= call.rows.count)
        served = launch_items < Item, Raw, kCount<2 ? kCount : 2, 1>(call, tuning.sparse_threads);
      else
        served = launch_items<Item, Raw, kCount, kItemVectors>(call, tuning.item_threads);
    });
  });
  return served;
}

void gather_items_if(const DirectCall& call, const unsigned* condition) {
  visit_chunk(call.rows.width, [&](auto item) {
    visit_index_width(call.args.index_type.bytes, [&](auto raw) {
      using Item = decltype(item);
      using Raw = decltype(raw);
      if constexpr (sizeof(Item) <= 8 && sizeof(Raw) >= 4) {
        launch(gather_items_if_kernel<Item, Raw, kVectorItems<Item>, kItemVectors>,
               Grid{call.tuning.partition.direct_blocks, kItemIfThreads, 0, true}, call.stream,
               item_args(call, condition), Bounds<Raw>(call.args), call.fill);
      }
    });
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/gather/items.cuh"

namespace gpukern::gpu {

namespace {

template <class Item, class Raw, int kCount, int kVectors>
bool launch_items(const DirectCall& call, int threads) {
  if (!aligned_to_vectors<Item, Raw, kCount>(call.args)) return false;
  const std::int64_t blocks =
      ceil_divide(call.rows.count, std::int64_t{threads} * kVectors * kCount);
  launch(gather_items_kernel<Item, Raw, kCount, kVectors>, Grid{blocks, threads, 0, true},
         call.stream, ItemArgs(call), Bounds<Raw>(call.args), call.fill);
  return true;
}

template <class Item, class Raw>
bool launch_few(const DirectCall& call) {
  const Bounds<Raw> bounds(call.args);
  const Grid grid{ceil_divide(call.rows.count, kThreads), kThreads, 0, true};
  launch(gather_few_kernel<Item, Raw>, grid, call.stream,
         reinterpret_cast<const Raw*>(call.args.index),
         reinterpret_cast<const Item*>(call.args.source), reinterpret_cast<Item*>(call.args.out),
         static_cast<unsigned>(call.rows.count), bounds.last, bounds, call.fill);
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
      constexpr int kPair = std::min(kCount, 2);
      const double apart = bytes_per_index(call);
      const bool few = call.rows.count <
                       (apart >= tuning.sparse_bytes ? tuning.few_sparse_items : tuning.few_items);
      if (few && call.rows.axis_stride == call.args.item)
        served = launch_few<Item, Raw>(call);
      else if (few)
        served = launch_items<Item, Raw, 1, 1>(call, kThreads);
      else if (call.rows.count < tuning.pairs_below || apart >= tuning.pairs_bytes)
        served = launch_items<Item, Raw, kPair, 1>(call, tuning.pair_threads);
      else
        served = launch_items<Item, Raw, kCount, kItemVectors>(call, tuning.item_threads);
    });
  });
  return served;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>

#include "cuda/gather/sorted_sparse.cuh"

namespace gpukern::gpu {
namespace {

template <class Item, class Raw>
void launch_rising(const DirectCall& call, Rise* rise) {
  const GatherArgs& args = call.args;
  const GatherTuning& tuning = call.tuning;
  const std::int64_t least =
      ceil_divide((kRiseSpot - 1) * tuning.rising_step, std::abs(call.rows.axis_stride));
  launch(rise_sample_kernel<Raw>, Grid{1, kRiseSpots, 0, true}, call.stream,
         reinterpret_cast<const Raw*>(args.index), call.rows.count, static_cast<Raw>(least), rise);
  launch(
      gather_rising_kernel<Item, Raw>,
      Grid{std::int64_t{device_facts().multiprocessors} * kRisingBlocks, kRisingThreads, 0, true},
      call.stream, ItemArgs(call), Bounds<Raw>(args), call.fill, rise);
  const std::int64_t items = std::int64_t{tuning.item_threads} * kItemVectors * kVectorItems<Item>;
  launch(gather_not_rising_kernel<Item, Raw>,
         Grid{ceil_divide(call.rows.count, items), tuning.item_threads, 0, true}, call.stream,
         ItemArgs(call), Bounds<Raw>(args), call.fill, static_cast<const Rise*>(rise));
}

template <class Item, class Raw>
bool run_rising(Backend& backend, const DirectCall& call) {
  if (!aligned_to_vectors<Item, Raw, kVectorItems<Item>>(call.args)) return false;
  const Buffer scratch = scratch_or_none(backend, sizeof(Rise), call.stream);
  if (scratch.data() == nullptr) return false;
  launch_rising<Item, Raw>(call, static_cast<Rise*>(scratch.data()));
  return true;
}

}  // namespace

bool gather_rising(Backend& backend, const DirectCall& call) {
  const GatherArgs& args = call.args;
  const GatherTuning& tuning = call.tuning;
  const double apart = bytes_per_index(call);
  if (args.item != call.rows.width || call.rows.outer != 1 || args.in_place ||
      args.index_type.bytes < 4 || call.rows.count < tuning.rising_from ||
      apart < tuning.sparse_bytes || apart >= tuning.rising_below ||
      !device_facts().overlaps_kernels)
    return false;
  bool served = false;
  visit_chunk(call.rows.width, [&](auto item) {
    using Item = decltype(item);
    served = args.index_type.bytes == 4 ? run_rising<Item, std::uint32_t>(backend, call)
                                        : run_rising<Item, std::uint64_t>(backend, call);
  });
  return served;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Few bags of floating-point rows in one launch: several take more time on the host than the work.
#include <algorithm>
#include <type_traits>

#include "cuda/common/join.cuh"
#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kFewThreads = 256;
constexpr std::int64_t kMostItems = 1 << 13;

/// Each thread block has a bag and as many of its columns as a group of threads. Where the bag has
/// several blocks, each group combines others.
template <class T>
__global__ void __launch_bounds__(kFewThreads, sizeof(Accumulator<T>) > 4 ? 2 : 4)
    reduce_few_bags_kernel(const __grid_constant__ BagRanges ranges,
                           const __grid_constant__ ItemRows rows,
                           const __grid_constant__ BagOutput<RowColumns<1, false>> output,
                           std::int64_t bags, const __grid_constant__ Batch batch,
                           const __grid_constant__ RowShares shares) {
  using A = Accumulator<T>;
  __shared__ A joined[kFewThreads];
  __shared__ ItemRange shared_range;
  __shared__ unsigned long long number;
  wait_for_previous();
  launch_next();
  const ThreadGroups& group = shares.threads;
  const RowShares::Columns share = shares.of(blockIdx.x, group.lane(), 1, output.columns.count);
  const Batch::Member own = batch.member(share.row, bags);
  if (threadIdx.x == 0) {
    shared_range = ranges.of<false>(own.row);
    number = 0;
  }
  __syncthreads();
  const ItemRange items = shared_range;
  const bool active = share.begin < share.end;
  const ColumnOffsets column = output.columns.at(share.begin);
  const auto block = [&](std::int64_t b) {
    A sum[] = {identity<A>(output.reduction)};
    const std::int64_t of_block = combine_items<T, true, false>(
        rows, items.block(b), group, active, own.number * batch.from + column.from, true,
        output.reduction, sum);
    // In mode "fill", items are counted as they are combined.
    if (group.lane() == 0) atomicAdd(&number, static_cast<unsigned long long>(of_block));
    return sum[0];
  };
  A sum[] = {join_by_threads<kFewThreads, 1>(block, max(items.blocks(), std::int64_t{1}),
                                             group.lanes(), true, output.reduction, joined)};
  if (active && static_cast<int>(threadIdx.x) < group.lanes())
    output.template store<T>(own.row, own.number * batch.to + column.to,
                             static_cast<std::int64_t>(number), sum);
}

RowShares few_shares(std::int64_t columns) {
  const ThreadGroups threads = groups_of(columns);
  return {threads, threads.lanes(), ceil_divide(columns, threads.lanes())};
}

std::int64_t few_blocks(const GatherReduceCall& call) {
  return call.args.bags * call.batch.count * few_shares(call.columns).groups;
}

}  // namespace

bool are_few_bags(const GatherReduceCall& call) {
  // Longer rows are read by vectors. One bag may have all items: two blocks for each group then.
  // Measured: benchmarks/notes/effects.md.
  constexpr std::int64_t kMostColumns = 64;
  constexpr std::int64_t kMostOfGroup = 2 * kBlockValues;
  const GatherReduceArgs& args = call.args;
  bool is_floating = false;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    is_floating = std::is_floating_point_v<Accumulator<T>>;
  });
  const std::int64_t groups = kFewThreads >> few_shares(call.columns).threads.bits;
  return is_floating && args.index != nullptr && call.columns <= kMostColumns &&
         args.count <= std::min(kMostItems, groups * kMostOfGroup) &&
         args.count * call.batch.count <= kMostItems && few_blocks(call) <= resident_grid() &&
         is_plain(call, args.item);
}

void reduce_few_bags(const GatherReduceCall& call) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_floating_point_v<Accumulator<T>>)
      launch(reduce_few_bags_kernel<T>, Grid{few_blocks(call), kFewThreads, 0, true}, call.stream,
             bag_ranges(args), item_rows(args), column_output(call), args.bags, call.batch,
             few_shares(call.columns));
  });
}

}  // namespace gpukern::gpu

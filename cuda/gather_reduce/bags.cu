// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kBagThreads = 128;

template <class T, int kCount, bool kAny>
__global__ void __launch_bounds__(kBagThreads, kAny ? 1 : kResidentBlocks<T>)
    reduce_bags_kernel(const __grid_constant__ BagRanges ranges,
                       const __grid_constant__ ItemRows rows,
                       const __grid_constant__ BagOutput<RowColumns<kCount, kAny>> output,
                       std::int64_t bags, const __grid_constant__ RowShares shares,
                       LongBags long_bags) {
  __shared__ unsigned long long listed;  // by this thread block
  __shared__ unsigned long long listed_before;
  if (threadIdx.x == 0) listed = 0;
  __syncthreads();
  const int lanes = shares.lanes;
  const int group = static_cast<int>(threadIdx.x) / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int groups = kBagThreads / lanes;
  const auto share = shares.of(static_cast<std::int64_t>(blockIdx.x) * groups + group, lane, kCount,
                               output.columns.count);
  ItemRange items{0, 0};
  if (share.row < bags) {
    items = RowGroup{lane, lanes}.agreed(ranges.of<kAny>(share.row));
    if (items.blocks() <= 1)
      combine_share<T>(rows, items, output.columns, share, {lane, lanes}, output.reduction,
                       [&](std::int64_t column, std::int64_t number, auto& sum) {
                         output.template store<T>(share.row, column, number, sum);
                       });
  }
  const bool is_long = share.begin == 0 && items.blocks() > 1;
  const unsigned long long mine =
      is_long ? atomicAdd(&listed, LongBags::packed(1, items.blocks())) : 0;
  __syncthreads();
  if (listed == 0) return;
  if (threadIdx.x == 0) listed_before = atomicAdd(&long_bags.counts->listed, listed);
  __syncthreads();
  // In mode "fill", items are counted as they are combined.
  if (is_long)
    long_bags.add(listed_before + mine, share.row, items,
                  rows.mode == GPUKERN_INDEX_FILL
                      ? 0ULL
                      : static_cast<unsigned long long>(items.end - items.begin));
}

}  // namespace

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_columns(call, [&]<class T, int kCount, bool kAny>(TypeTag<T>,
                                                          const RowColumns<kCount, kAny>& columns) {
    const RowShares shares = row_shares(call.columns, kCount);
    const BagOutput<RowColumns<kCount, kAny>> output{args.out, args.out_step, columns,
                                                     reduction_of(args.reduce, args.dtype)};
    launch(reduce_bags_kernel<T, kCount, kAny>,
           Grid{ceil_divide(args.bags * shares.groups, kBagThreads / shares.lanes), kBagThreads},
           call.stream, bag_ranges(args), item_rows(args), output, args.bags, shares, long_bags);
  });
}

}  // namespace gpukern::gpu

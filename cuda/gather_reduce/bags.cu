// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kBagThreads = 128;

/// Each group of threads reduces a bag of at most one block, or, with `of_long`, blocks of the long
/// bags. One kernel for both would take registers from the first, so that is for rare layouts only.
template <class T, int kCount, bool kAny, bool kMayBeLong>
__global__ void __launch_bounds__(kBagThreads, kAny ? 1 : kResidentBlocks<T>)
    reduce_bags_kernel(const __grid_constant__ BagRanges ranges,
                       const __grid_constant__ ItemRows rows,
                       const __grid_constant__ BagOutput<RowColumns<kCount, kAny>> output,
                       std::int64_t bags, const __grid_constant__ RowShares shares,
                       LongBags long_bags, bool of_long) {
  using A = Accumulator<T>;
  __shared__ unsigned long long listed;  // by this thread block
  __shared__ unsigned long long listed_before;
  of_long = kMayBeLong && of_long;
  if (of_long && long_bags.is_void()) return;
  if (threadIdx.x == 0) listed = 0;
  __syncthreads();
  const int lanes = shares.lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int groups = kBagThreads / lanes;
  const std::int64_t rows_of_sums = of_long ? long_bags.blocks() : bags;
  RowShares::Columns share{};
  ItemRange items{0, 0};
  std::int64_t group =
      static_cast<std::int64_t>(blockIdx.x) * groups + static_cast<int>(threadIdx.x) / lanes;
  do {
    share = shares.of(group, lane, kCount, output.columns.count);
    if (share.row >= rows_of_sums) break;
    LongBag* long_bag = nullptr;
    if (of_long) {
      long_bag = &long_bags.bag[long_bags.bag_of(share.row)];
      items = ranges.of<kAny>(long_bag->bag).block(share.row - long_bag->first);
    } else {
      items = ranges.of<kAny>(share.row);
    }
    items = RowGroup{lane, lanes}.agreed(items);
    if (items.blocks() <= 1)
      combine_share<T>(rows, items, output.columns, share, {lane, lanes}, output.reduction,
                       [&](std::int64_t column, std::int64_t number, auto& sum) {
                         if (!of_long)
                           return output.template store<T>(share.row, column, number, sum);
                         if (column == 0 && rows.mode == GPUKERN_INDEX_FILL)
                           atomicAdd(&long_bag->items, static_cast<unsigned long long>(number));
                         A* const to =
                             long_bags.sums_of<A>(share.row, output.columns.count) + column;
#pragma unroll
                         for (int c = 0; c < kCount; ++c) to[c] = sum[c];
                       });
    group += static_cast<std::int64_t>(gridDim.x) * groups;
  } while (of_long);
  if (of_long) return;
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

template <bool kOfLong>
void reduce(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_columns(call, [&]<class T, int kCount, bool kAny>(TypeTag<T>,
                                                          const RowColumns<kCount, kAny>& columns) {
    const RowShares shares = row_shares(call.columns, kCount);
    const BagOutput<RowColumns<kCount, kAny>> output{args.out, args.out_step, columns,
                                                     reduction_of(args.reduce, args.dtype)};
    const std::int64_t blocks =
        kOfLong ? resident_grid()
                : ceil_divide(args.bags * shares.groups, kBagThreads / shares.lanes);
    // Those of rare layouts are one kernel.
    constexpr bool kMayBeLong = kAny || kOfLong;
    launch(reduce_bags_kernel<T, kCount, kAny, kMayBeLong>, Grid{blocks, kBagThreads}, call.stream,
           bag_ranges(args), item_rows(args), output, args.bags, shares, long_bags, kOfLong);
  });
}

}  // namespace

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  reduce<false>(call, long_bags);
}

void reduce_long_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  reduce<true>(call, long_bags);
}

}  // namespace gpukern::gpu

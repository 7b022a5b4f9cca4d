// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kBagThreads = 128;

/// For `rows` rows of columns, of which an access takes `each`: up to four accesses of a thread, if
/// there are warps enough.
RowShares row_shares(std::int64_t rows, std::int64_t columns, int each) {
  constexpr std::int64_t kMostPasses = 4;
  constexpr std::int64_t kResidentWarps = 64;
  const std::int64_t accesses = ceil_divide(columns, each);
  const ThreadGroups threads = groups_of(accesses);
  const std::int64_t warps = rows * ceil_divide(accesses, kWarp);
  const std::int64_t passes = std::clamp<std::int64_t>(
      warps / (kResidentWarps * device_facts().multiprocessors), 1, kMostPasses);
  const std::int64_t span = passes * threads.lanes() * each;
  return {threads, span, ceil_divide(columns, span)};
}

/// What each group of threads reduces: a bag of at most one block, a block of a long bag, or
/// either, which has fewer kernels, where it costs little.
enum class Work { kBags, kLongBags, kEither };

/// `is_of_long`: which of them, for Work::kEither. `kIndexed`: of the items that an index names,
/// and for rare layouts of any items.
template <class T, int kCount, bool kAny, bool kIndexed, Work kWork>
__global__ void __launch_bounds__(kBagThreads, kAny ? 1 : kResidentBlocks<T, kCount>)
    reduce_bags_kernel(const __grid_constant__ BagRanges ranges,
                       const __grid_constant__ ItemRows rows,
                       const __grid_constant__ BagOutput<RowColumns<kCount, kAny>> output,
                       std::int64_t bags, const __grid_constant__ Batch batch,
                       const __grid_constant__ RowShares shares, LongBags long_bags,
                       bool is_of_long) {
  using A = Accumulator<T>;
  const bool of_long = kWork == Work::kEither ? is_of_long : kWork == Work::kLongBags;
  wait_for_previous();
  launch_next();
  if (of_long && long_bags.is_void()) return;
  const ThreadGroups& group = shares.threads;
  const RowShares::Columns share =
      shares.of(group.in_grid(), group.lane(), kCount, output.columns.count);
  const std::int64_t work = of_long ? long_bags.blocks() : bags;
  const bool has_work = share.row < work * batch.count;
  const Batch::Member own = batch.member(share.row, max(work, std::int64_t{1}));
  LongBag* const bag = of_long && has_work ? &long_bags.bag[long_bags.bag_of(own.row)] : nullptr;
  ItemRange items{0, 0};
  if (has_work)
    items = agreed(group, bag != nullptr ? ranges.of<kAny>(bag->bag).block(own.row - bag->first)
                                         : ranges.of<kAny>(own.row));
  if (has_work && items.blocks() <= 1)
    combine_share<T, kIndexed>(
        rows, items, own.number * batch.from, output.columns, share, group, output.reduction,
        [&](std::int64_t column, std::int64_t number, auto& sum) {
          if (!of_long) {
            const std::int64_t to = own.number * batch.to + output.columns.at(column).to;
            return output.template store<T>(own.row, to, number, sum);
          }
          column += own.number * output.columns.count;
          // In mode "fill", items are counted as they are combined.
          if (column == 0 && rows.mode == GPUKERN_INDEX_FILL)
            atomicAdd(&bag->items, static_cast<unsigned long long>(number));
          A* const to = long_bags.sums_of<A>(own.row, batch.count * output.columns.count) + column;
#pragma unroll
          for (int c = 0; c < kCount; ++c) to[c] = sum[c];
        });
  if (!of_long)
    long_bags.list(share.begin == 0 && own.number == 0 && items.blocks() > 1, own.row, items,
                   rows.mode != GPUKERN_INDEX_FILL);
}

template <bool kOfLong>
void reduce(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_columns<!kOfLong>(call, [&]<class T, int kCount, bool kAny>(
                                    TypeTag<T>, const RowColumns<kCount, kAny>& columns) {
    const BagOutput<RowColumns<kCount, kAny>> output{args.out, args.out_step, columns,
                                                     reduction_of(args.reduce, args.dtype)};
    const std::int64_t work = (kOfLong ? long_bags.most_blocks : args.bags) * call.batch.count;
    const RowShares shares = row_shares(work, call.columns, kCount);
    const auto start = [&](auto kernel) {
      launch(kernel,
             Grid{ceil_divide(work * shares.groups, kBagThreads >> shares.threads.bits),
                  kBagThreads, 0, kOfLong},
             call.stream, bag_ranges(args), item_rows(args), output, args.bags, call.batch, shares,
             long_bags, kOfLong);
    };
    constexpr Work kWork = kOfLong ? Work::kLongBags : Work::kBags;
    // Wide columns are never those of long bags.
    constexpr Work kWorkOfRows = kCount > kVectorColumns<T> ? kWork : Work::kEither;
    if constexpr (kAny)
      start(reduce_bags_kernel<T, kCount, kAny, true, Work::kEither>);
    else if (args.index == nullptr)
      start(reduce_bags_kernel<T, kCount, kAny, false, kWorkOfRows>);
    else
      start(reduce_bags_kernel<T, kCount, kAny, true, kWork>);
  });
}

}  // namespace

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  if (are_segments(call)) return reduce_segments(call, long_bags);
  reduce<false>(call, long_bags);
}

void reduce_long_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  if (are_segments(call)) return reduce_long_segments(call, long_bags);
  reduce<true>(call, long_bags);
}

}  // namespace gpukern::gpu

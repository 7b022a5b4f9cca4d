// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/join.cuh"
#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kPartThreads = 128;
constexpr int kJoinThreads = 256;

/// Each group of threads combines a block of a long bag at a time.
template <class T, int kCount>
__global__ void __launch_bounds__(kPartThreads)
    reduce_parts_kernel(const __grid_constant__ BagRanges ranges,
                        const __grid_constant__ ItemRows rows,
                        const __grid_constant__ RowColumns<kCount> columns,
                        const __grid_constant__ RowShares shares, gpukern_reduce reduce,
                        LongBags long_bags) {
  using A = Accumulator<T>;
  const int lanes = shares.lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int groups = kPartThreads / lanes;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * groups + static_cast<int>(threadIdx.x) / lanes;
  const auto used = static_cast<std::int64_t>(*long_bags.used);
  const std::int64_t end = used < 0 ? long_bags.capacity : min(used, long_bags.capacity);
  for (std::int64_t group = first; group < end * shares.groups;
       group += static_cast<std::int64_t>(gridDim.x) * groups) {
    const auto share = shares.of(group, lane, kCount, columns.count);
    const BagPart part = long_bags.parts[share.row];
    if (part.entry < 0) continue;
    const ItemRange items = ranges[long_bags.bags[part.entry].bag].block(part.block);
    A* const to = long_bags.sums_of<A>(share.row, columns.count);
    for (std::int64_t column = share.begin; column < share.end;
         column += std::int64_t{lanes} * kCount) {
      A sum[kCount];
#pragma unroll
      for (int c = 0; c < kCount; ++c) sum[c] = identity<A>(reduce);
      const std::int64_t number =
          combine_items<T>(rows, items, columns.value_offset(column), columns.aligned, reduce, sum);
      if (column == 0 && rows.mode == GPUKERN_INDEX_FILL)
        atomicAdd(&long_bags.bags[part.entry].items, static_cast<unsigned long long>(number));
#pragma unroll
      for (int c = 0; c < kCount; ++c) to[column + c] = sum[c];
    }
  }
}

/// Joins the parts of a long bag for `width` columns at a time.
template <class T>
__global__ void __launch_bounds__(kJoinThreads)
    join_parts_kernel(std::byte* out, std::int64_t out_step,
                      const __grid_constant__ RowColumns<1> columns, int width,
                      gpukern_reduce reduce, LongBags long_bags) {
  using A = Accumulator<T>;
  __shared__ alignas(A) std::byte memory[kJoinThreads * sizeof(A)];
  A* const joined = reinterpret_cast<A*>(memory);
  const std::int64_t tiles = (columns.count + width - 1) / width;
  const auto number = static_cast<std::int64_t>(*long_bags.number);
  for (std::int64_t work = blockIdx.x; work < number * tiles; work += gridDim.x) {
    const LongBag bag = long_bags.bags[work / tiles];
    const std::int64_t column =
        work % tiles * width + static_cast<std::int64_t>(threadIdx.x) % width;
    const bool active = column < columns.count;
    const A* const sums = long_bags.sums_of<A>(bag.first, columns.count) + column;
    const auto block = [&](std::int64_t b) { return sums[b * columns.count]; };
    const A sum = join_by_threads<kJoinThreads>(block, bag.blocks, width, active, reduce, joined);
    if (!active || static_cast<int>(threadIdx.x) >= width) continue;
    const auto items = static_cast<std::int64_t>(bag.items);
    store_element(out + bag.bag * out_step + columns.target_offset(column),
                  items > 0 ? finished<T>(reduce, sum, items) : T{}, columns.aligned);
  }
}

std::int64_t resident_grid() { return std::int64_t{8} * device_facts().multiprocessors; }

}  // namespace

void reduce_parts(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_columns(call, [&]<class T, int kCount>(TypeTag<T>, std::integral_constant<int, kCount>) {
    const RowColumns<kCount> columns{args.columns, call.columns, is_aligned(args, alignof(T))};
    launch(reduce_parts_kernel<T, kCount>, Grid{resident_grid(), kPartThreads}, call.stream,
           bag_ranges(args), item_rows(args), columns, row_shares(call.columns, kCount),
           args.reduce, long_bags);
  });
}

void join_parts(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_reduced_dtype(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const RowColumns<1> columns{args.columns, call.columns, is_aligned(args, alignof(T))};
    launch(join_parts_kernel<T>, Grid{resident_grid(), kJoinThreads}, call.stream, args.out,
           args.out_step, columns, row_shares(call.columns, 1).lanes, args.reduce, long_bags);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/join.cuh"
#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kJoinThreads = 1024;
/// Columns that a thread block joins at a time: few, so that many threads share long bags.
constexpr std::uint64_t kJoinColumns = 8;

using ColumnOutput = BagOutput<RowColumns<1>>;

/// Reduces every long bag, each by `width` threads, without the list.
template <class T>
__device__ __noinline__ void reduce_unlisted(const BagRanges& ranges, const ItemRows& rows,
                                             const ColumnOutput& output, std::int64_t bags,
                                             int width) {
  using A = Accumulator<T>;
  const std::int64_t groups = static_cast<std::int64_t>(gridDim.x) * (kJoinThreads / width);
  std::int64_t bag = static_cast<std::int64_t>(blockIdx.x) * (kJoinThreads / width) +
                     static_cast<int>(threadIdx.x) / width;
  for (; bag < bags; bag += groups) {
    const ItemRange items = ranges.of<true>(bag);
    if (items.blocks() <= 1) continue;
    for (std::int64_t column = static_cast<int>(threadIdx.x) % width; column < output.columns.count;
         column += width) {
      std::int64_t number = 0;
      const auto block = [&](std::int64_t b) {
        A sum[1] = {identity<A>(output.reduction)};
        const ItemRange part = items.block(b);
        for (std::int64_t item = part.begin; item < part.end; ++item) {
          const std::byte* row[1];
          rows.find<true>(item, 1, row);
          combine_rows<T, true>(rows, item, row, output.columns.at(column).from,
                                output.columns.aligned, output.reduction, sum);
          number += row[0] != nullptr;
        }
        return sum[0];
      };
      A sum[] = {join_blocks<A, 1>(block, 0, items.blocks(), output.reduction)};
      output.store<T>(bag, output.columns.at(column).to, number, sum);
    }
  }
}

/// The sums of a bag's blocks in one column.
template <class A>
struct BlockSums {
  const A* first;
  std::int64_t columns;

  __device__ A operator()(std::int64_t block) const { return first[block * columns]; }
};

/// Joins the blocks of each long bag: few of them by a thread for each column, more by a thread
/// block for `width` columns.
template <class T>
__global__ void __launch_bounds__(kJoinThreads)
    join_bags_kernel(const __grid_constant__ BagRanges ranges,
                     const __grid_constant__ ItemRows rows,
                     const __grid_constant__ ColumnOutput output, std::int64_t bags, int width,
                     int unlisted_width, LongBags long_bags) {
  using A = Accumulator<T>;
  wait_for_previous();
  if (long_bags.is_void()) return reduce_unlisted<T>(ranges, rows, output, bags, unlisted_width);
  // Where bags are few, a thread block joins more than eight blocks of each in less time than a
  // thread does. The tree is the same.
  const bool are_few = long_bags.bags() * output.columns.count <= 4 * gridDim.x;
  const std::int64_t most_of_thread = are_few ? 8 : 64;
  const RowColumns<1>& columns = output.columns;
  const auto block_of = [&](const LongBag& bag, std::int64_t column) {
    return BlockSums<A>{long_bags.sums_of<A>(bag.first, columns.count) + column, columns.count};
  };
  const auto store = [&](const LongBag& bag, std::int64_t column, A joined) {
    A sum[] = {joined};
    output.store<T>(bag.bag, columns.at(column).to, static_cast<std::int64_t>(bag.items), sum);
  };
  for (std::int64_t work = std::int64_t{blockIdx.x} * kJoinThreads + threadIdx.x;
       work < long_bags.bags() * columns.count; work += std::int64_t{gridDim.x} * kJoinThreads) {
    const LongBag bag = long_bags.bag[work / columns.count];
    if (bag.blocks > most_of_thread) continue;
    const std::int64_t column = work % columns.count;
    store(bag, column, join_blocks<A>(block_of(bag, column), 0, bag.blocks, output.reduction));
  }
  __shared__ alignas(A) std::byte memory[kJoinThreads * sizeof(A)];
  __shared__ std::int64_t many[kJoinThreads];  // works of bags that have many blocks
  __shared__ int number;
  const std::int64_t tiles = (columns.count + width - 1) / width;
  const std::int64_t works = long_bags.bags() * tiles;
  const std::int64_t step = gridDim.x;
  for (std::int64_t first = blockIdx.x; first < works; first += kJoinThreads * step) {
    // Each thread looks at another bag.
    const std::int64_t mine = first + threadIdx.x * step;
    const bool has_many = mine < works && long_bags.bag[mine / tiles].blocks > most_of_thread;
    if (threadIdx.x == 0) number = 0;
    if (__syncthreads_or(has_many ? 1 : 0) == 0) continue;
    if (has_many) many[atomicAdd(&number, 1)] = mine;
    __syncthreads();
    for (int k = 0; k < number; ++k) {
      const LongBag bag = long_bags.bag[many[k] / tiles];
      const std::int64_t column =
          many[k] % tiles * width + static_cast<std::int64_t>(threadIdx.x) % width;
      const bool active = column < columns.count;
      const A sum = join_by_threads<kJoinThreads>(block_of(bag, column), bag.blocks, width, active,
                                                  output.reduction, reinterpret_cast<A*>(memory));
      if (active && static_cast<int>(threadIdx.x) < width) store(bag, column, sum);
    }
    __syncthreads();
  }
}

}  // namespace

void join_long_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_combined_type(args.dtype, [&]<class T>(TypeTag<T>) {
    const ColumnOutput output{
        args.out,
        args.out_step,
        {LoopOffsets(args.columns), call.all_columns, is_aligned(call, alignof(T))},
        reduction_of(args.reduce, args.dtype)};
    const std::int64_t blocks = 2 * device_facts().multiprocessors;  // more would not be resident
    launch(join_bags_kernel<T>, Grid{blocks, kJoinThreads, 0, true}, call.stream, bag_ranges(args),
           item_rows(args), output, args.bags, join_width(call.all_columns, kJoinColumns),
           join_width(call.all_columns), long_bags);
  });
}

}  // namespace gpukern::gpu

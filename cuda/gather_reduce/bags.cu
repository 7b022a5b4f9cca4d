// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/join.cuh"
#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kBagThreads = 128;

/// Where the results go.
template <int kCount>
struct BagOutput {
  std::byte* out;
  std::int64_t step;
  RowColumns<kCount> columns;
  gpukern_reduce reduce;

  [[nodiscard]] __device__ std::byte* at(std::int64_t bag, std::int64_t column) const {
    return out + bag * step + columns.target_offset(column);
  }
};

/// Reduces up to kShortBlocks blocks.
template <class T, int kCount>
__device__ std::int64_t reduce_short(const ItemRows& rows, const ItemRange& items,
                                     std::int64_t offset, bool aligned, gpukern_reduce reduce,
                                     Accumulator<T> (&sum)[kCount]) {
  static_assert(kShortBlocks == 4, "pairs are joined, then the two pairs");
  using A = Accumulator<T>;
  const std::int64_t blocks = items.blocks();
  std::int64_t number = 0;
  A pair[kCount];
#pragma unroll 1
  for (std::int64_t b = 0; b < blocks || b == 0; ++b) {
    A block[kCount];
#pragma unroll
    for (int c = 0; c < kCount; ++c) block[c] = identity<A>(reduce);
    number += combine_items<T>(rows, items.block(b), offset, aligned, reduce, block);
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      if (b == 0) sum[c] = block[c];
      if (b == 1) sum[c] = combine(reduce, sum[c], block[c]);
      if (b == 2) pair[c] = block[c];
      if (b == 3) pair[c] = combine(reduce, pair[c], block[c]);
      if (b >= 2 && b + 1 == blocks) sum[c] = combine(reduce, sum[c], pair[c]);
    }
  }
  return number;
}

/// Writes the result of `number` items.
template <class T, int kCount>
__device__ void store_sum(const BagOutput<kCount>& output, std::int64_t bag, std::int64_t column,
                          std::int64_t number, Accumulator<T> (&sum)[kCount]) {
  gpukern_reduce reduce = output.reduce;
  if (number == 0) {
    number = 1;
    reduce = GPUKERN_REDUCE_ADD;
#pragma unroll
    for (int c = 0; c < kCount; ++c) sum[c] = Accumulator<T>{};
  }
  store_columns<T>(output.at(bag, column), output.columns.aligned, reduce, number, sum);
}

/// Reduces a long bag that is not listed, by one group.
template <class T, int kCount>
__device__ __noinline__ void reduce_alone(const ItemRange& items, const ItemRows& rows,
                                          const BagOutput<kCount>& output, std::int64_t bag,
                                          int lane, int lanes) {
  using A = Accumulator<T>;
  for (std::int64_t column = lane; column < output.columns.count; column += lanes) {
    std::int64_t number = 0;
    const auto block = [&](std::int64_t b) {
      A sum[1] = {identity<A>(output.reduce)};
      number += combine_items<T>(rows, items.block(b), output.columns.value_offset(column),
                                 output.columns.aligned, output.reduce, sum);
      return sum[0];
    };
    const A sum = join_blocks<A>(block, 0, items.blocks(), output.reduce);
    store_element(output.at(bag, column),
                  number > 0 ? finished<T>(output.reduce, sum, number) : T{},
                  output.columns.aligned);
  }
}

/// The long bags of a thread block.
struct PendingBags {
  struct Bag {
    std::int64_t bag;
    ItemRange items;
    std::int64_t first;  ///< part, relative to those of the thread block
  };
  Bag bag[kBagThreads];
  int number;
  std::int64_t blocks;  ///< of all
  std::int64_t first_part;
  std::int64_t first_entry;  ///< -1: there is not enough room

  __device__ void add(std::int64_t number_of_bag, const ItemRange& items) {
    bag[atomicAdd(&number, 1)] = {number_of_bag, items, 0};
  }

  /// By one thread.
  __device__ void reserve(const LongBags& long_bags) {
    blocks = 0;
    for (int i = 0; i < number; ++i) {
      bag[i].first = blocks;
      blocks += bag[i].items.blocks();
    }
    first_part = static_cast<std::int64_t>(
        atomicAdd(long_bags.used, static_cast<unsigned long long>(blocks)));
    first_entry = -1;
    if (first_part < 0 || blocks > long_bags.capacity - first_part) return;
    first_entry = static_cast<std::int64_t>(
        atomicAdd(long_bags.number, static_cast<unsigned long long>(number)));
  }

  /// By all threads. `counts`: the items are counted as they are combined.
  __device__ void list(const LongBags& long_bags, bool counts) const {
    if (first_entry < 0) {
      if (first_part < 0) return;
      for (std::int64_t p = first_part + threadIdx.x; p < long_bags.capacity; p += kBagThreads)
        long_bags.parts[p] = {-1, 0};
      return;
    }
    for (int i = 0; i < number; ++i) {
      const ItemRange items = bag[i].items;
      const std::int64_t first = first_part + bag[i].first;
      for (std::int64_t b = threadIdx.x; b < items.blocks(); b += kBagThreads)
        long_bags.parts[first + b] = {first_entry + i, b};
      if (threadIdx.x == 0)
        long_bags.bags[first_entry + i] = {
            bag[i].bag, first, items.blocks(),
            counts ? 0ULL : static_cast<unsigned long long>(items.end - items.begin)};
    }
  }
};

template <class T, int kCount>
__global__ void __launch_bounds__(kBagThreads)
    reduce_bags_kernel(const __grid_constant__ BagRanges ranges,
                       const __grid_constant__ ItemRows rows,
                       const __grid_constant__ BagOutput<kCount> output, std::int64_t bags,
                       const __grid_constant__ RowShares shares, LongBags long_bags) {
  using A = Accumulator<T>;
  __shared__ PendingBags pending;
  if (threadIdx.x == 0) pending.number = 0;
  __syncthreads();
  const int lanes = shares.lanes;
  const int group = static_cast<int>(threadIdx.x) / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int groups = kBagThreads / lanes;
  const auto share = shares.of(static_cast<std::int64_t>(blockIdx.x) * groups + group, lane, kCount,
                               output.columns.count);
  if (share.row < bags) {
    const ItemRange items = ranges[share.row];
    if (items.blocks() > kShortBlocks) {
      if (share.begin == 0) pending.add(share.row, items);
    } else {
      for (std::int64_t column = share.begin; column < share.end;
           column += std::int64_t{lanes} * kCount) {
        A sum[kCount];
        const std::int64_t number =
            reduce_short<T>(rows, items, output.columns.value_offset(column),
                            output.columns.aligned, output.reduce, sum);
        store_sum<T>(output, share.row, column, number, sum);
      }
    }
  }
  __syncthreads();
  if (pending.number == 0) return;
  if (threadIdx.x == 0) pending.reserve(long_bags);
  __syncthreads();
  pending.list(long_bags, rows.mode == GPUKERN_INDEX_FILL);
  if (pending.first_entry >= 0) return;
  for (int i = group; i < pending.number; i += groups)
    reduce_alone<T>(pending.bag[i].items, rows, output, pending.bag[i].bag, lane, lanes);
}

}  // namespace

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_columns(call, [&]<class T, int kCount>(TypeTag<T>, std::integral_constant<int, kCount>) {
    const RowShares shares = row_shares(call.columns, kCount);
    const BagOutput<kCount> output{args.out,
                                   args.out_step,
                                   {args.columns, call.columns, is_aligned(args, alignof(T))},
                                   args.reduce};
    launch(reduce_bags_kernel<T, kCount>,
           Grid{ceil_divide(args.bags * shares.groups, kBagThreads / shares.lanes), kBagThreads},
           call.stream, bag_ranges(args), item_rows(args), output, args.bags, shares, long_bags);
  });
}

}  // namespace gpukern::gpu

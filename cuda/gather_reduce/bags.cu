// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather_reduce/gather_reduce.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kBagThreads = 128;

/// Where the results go.
template <class Columns>
struct BagOutput {
  std::byte* out;
  std::int64_t step;
  Columns columns;
  gpukern_reduce reduce;
  std::uint64_t flip;

  [[nodiscard]] __device__ std::byte* at(std::int64_t bag, std::int64_t column) const {
    return out + bag * step + columns.target_offset(column);
  }
};

/// Writes the result of `number` items.
template <class T, class Columns, int kCount>
__device__ void store_sum(const BagOutput<Columns>& output, std::int64_t bag, std::int64_t column,
                          std::int64_t number, Accumulator<T> (&sum)[kCount]) {
  gpukern_reduce reduce = output.reduce;
  if (number == 0) {
    number = 1;
    reduce = GPUKERN_REDUCE_ADD;
#pragma unroll
    for (int c = 0; c < kCount; ++c) sum[c] = Accumulator<T>{};
  } else {
#pragma unroll
    for (int c = 0; c < kCount; ++c) sum[c] = flipped(sum[c], output.flip);
  }
  store_columns<T>(output.at(bag, column), output.columns.is_aligned(), reduce, number, sum);
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
  std::int64_t first_part;
  std::int64_t first_entry;
  bool is_listed;

  __device__ void add(std::int64_t number_of_bag, const ItemRange& items) {
    bag[atomicAdd(&number, 1)] = {number_of_bag, items, 0};
  }

  /// By one thread.
  __device__ void reserve(const LongBags& long_bags) {
    std::int64_t blocks = 0;
    for (int i = 0; i < number; ++i) {
      bag[i].first = blocks;
      blocks += bag[i].items.blocks();
    }
    first_part = static_cast<std::int64_t>(
        atomicAdd(&long_bags.counts->parts, static_cast<unsigned long long>(blocks)));
    is_listed = first_part >= 0 && blocks <= long_bags.capacity - first_part;
    if (is_listed)
      first_entry = static_cast<std::int64_t>(
          atomicAdd(&long_bags.counts->bags, static_cast<unsigned long long>(number)));
    else
      long_bags.counts->unlisted = 1;
  }

  /// By all threads. `counts`: the items are counted as they are combined.
  __device__ void list(const LongBags& long_bags, bool counts) const {
    if (!is_listed) return;
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

template <class T, int kCount, bool kAny>
__global__ void __launch_bounds__(kBagThreads, kAny ? 1 : 6)
    reduce_bags_kernel(const __grid_constant__ BagRanges ranges,
                       const __grid_constant__ ItemRows rows,
                       const __grid_constant__ BagOutput<RowColumns<kCount, kAny>> output,
                       std::int64_t bags, const __grid_constant__ RowShares shares,
                       LongBags long_bags) {
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
    const ItemRange items = ranges.of<kAny>(share.row);
    if (items.blocks() > 1) {
      if (share.begin == 0) pending.add(share.row, items);
    } else {
      const std::int64_t before = std::int64_t{lane} * kCount;
      for (std::int64_t column = share.begin; column - before < share.end;
           column += std::int64_t{lanes} * kCount) {
        const bool active = column < share.end;
        A sum[kCount];
#pragma unroll
        for (int c = 0; c < kCount; ++c) sum[c] = identity<A>(output.reduce);
        const std::int64_t number = combine_items<T, kAny>(
            rows, items, {lane, lanes}, active, active ? output.columns.value_offset(column) : 0,
            output.columns.is_aligned(), output.reduce, sum);
        if (active) store_sum<T>(output, share.row, column, number, sum);
      }
    }
  }
  __syncthreads();
  if (pending.number == 0) return;
  if (threadIdx.x == 0) pending.reserve(long_bags);
  __syncthreads();
  pending.list(long_bags, rows.mode == GPUKERN_INDEX_FILL);
}

}  // namespace

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_columns(call, [&]<class T, int kCount, bool kAny>(TypeTag<T>,
                                                          const RowColumns<kCount, kAny>& columns) {
    const RowShares shares = row_shares(call.columns, kCount);
    const BagOutput<RowColumns<kCount, kAny>> output{args.out, args.out_step, columns, args.reduce,
                                                     sign_bit(args)};
    launch(reduce_bags_kernel<T, kCount, kAny>,
           Grid{ceil_divide(args.bags * shares.groups, kBagThreads / shares.lanes), kBagThreads},
           call.stream, bag_ranges(args), item_rows(args), output, args.bags, shares, long_bags);
  });
}

}  // namespace gpukern::gpu

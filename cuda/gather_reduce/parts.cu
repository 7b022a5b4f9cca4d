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
__global__ void __launch_bounds__(kPartThreads, kCount == 1 ? 1 : 6)
    reduce_parts_kernel(const __grid_constant__ BagRanges ranges,
                        const __grid_constant__ ItemRows rows,
                        const __grid_constant__ RowColumns<kCount> columns,
                        const __grid_constant__ RowShares shares, gpukern_reduce reduce,
                        LongBags long_bags) {
  using A = Accumulator<T>;
  constexpr bool kAny = RowColumns<kCount>::kAnyLayout;
  const int lanes = shares.lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int groups = kPartThreads / lanes;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * groups + static_cast<int>(threadIdx.x) / lanes;
  if (long_bags.is_void()) return;
  const auto parts = static_cast<std::int64_t>(long_bags.counts->parts);
  for (std::int64_t group = first; group < parts * shares.groups;
       group += static_cast<std::int64_t>(gridDim.x) * groups) {
    const auto share = shares.of(group, lane, kCount, columns.count);
    const BagPart part = long_bags.parts[share.row];
    const ItemRange items = ranges.of<kAny>(long_bags.bags[part.entry].bag).block(part.block);
    A* const to = long_bags.sums_of<A>(share.row, columns.count);
    const std::int64_t before = std::int64_t{lane} * kCount;
    for (std::int64_t column = share.begin; column - before < share.end;
         column += std::int64_t{lanes} * kCount) {
      const bool active = column < share.end;
      A sum[kCount];
#pragma unroll
      for (int c = 0; c < kCount; ++c) sum[c] = identity<A>(reduce);
      const std::int64_t number = combine_items<T, kAny>(rows, items, {lane, lanes}, active,
                                                         active ? columns.value_offset(column) : 0,
                                                         columns.is_aligned(), reduce, sum);
      if (!active) continue;
      if (column == 0 && rows.mode == GPUKERN_INDEX_FILL)
        atomicAdd(&long_bags.bags[part.entry].items, static_cast<unsigned long long>(number));
#pragma unroll
      for (int c = 0; c < kCount; ++c) to[column + c] = sum[c];
    }
  }
}

constexpr int kWarp = 32;

/// As many as have room for their accumulators in shared memory.
template <class T>
constexpr int kColumnThreads = sizeof(Accumulator<T>) > 8 ? 64 : 128;

/// As reduce_parts_kernel() for the only column of rows. A thread combines a block, in order: its
/// warp loads the items of 32 blocks together, so that accesses are to neighbouring addresses.
template <class T>
__global__ void __launch_bounds__(kColumnThreads<T>)
    reduce_column_kernel(const __grid_constant__ BagRanges ranges,
                         const __grid_constant__ ItemRows rows, gpukern_reduce reduce,
                         LongBags long_bags) {
  using A = Accumulator<T>;
  constexpr int kWarps = kColumnThreads<T> / kWarp;
  constexpr int kPitch = kWarp + 1;  // without bank conflicts
  __shared__ alignas(A) std::byte memory[kWarps * kWarp * kPitch * sizeof(A)];
  if (long_bags.is_void()) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  A* const staged = reinterpret_cast<A*>(memory) + warp * kWarp * kPitch;
  const auto parts = static_cast<std::int64_t>(long_bags.counts->parts);
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kWarps + warp) * kWarp; first < parts;
       first += std::int64_t{gridDim.x} * kColumnThreads<T>) {
    BagPart part{0, 0};
    ItemRange items{0, 0};
    const bool has_part = first + lane < parts;
    if (has_part) {
      part = long_bags.parts[first + lane];
      items = ranges.of<false>(long_bags.bags[part.entry].bag).block(part.block);
    }
    A sum = identity<A>(reduce);
    std::int64_t number = 0;
    for (int done = 0; done < static_cast<int>(kBlockValues); done += kWarp) {
#pragma unroll 8
      for (int p = 0; p < kWarp; ++p) {
        const std::int64_t item = __shfl_sync(~0U, items.begin, p) + done + lane;
        const bool has_item = item < __shfl_sync(~0U, items.end, p);
        const std::byte* row[1];
        rows.find<false>(item, has_item ? 1 : 0, row);
        A value = identity<A>(reduce);
        if (row[0] != nullptr) {
          value = flipped(widened(*reinterpret_cast<const T*>(row[0])), rows.flip);
          if (rows.weights != nullptr)
            value = multiplied(
                value,
                widened(*reinterpret_cast<const T*>(rows.weights + item * rows.weight_step)));
        }
        staged[p * kPitch + lane] = value;
        const unsigned found = __ballot_sync(~0U, row[0] != nullptr);
        if (lane == p) number += __popc(found);
      }
      __syncwarp();
#pragma unroll 8
      for (int k = 0; k < kWarp; ++k) sum = combine(reduce, sum, staged[lane * kPitch + k]);
      __syncwarp();
    }
    if (!has_part) continue;
    if (rows.mode == GPUKERN_INDEX_FILL)
      atomicAdd(&long_bags.bags[part.entry].items, static_cast<unsigned long long>(number));
    long_bags.sums_of<A>(first + lane, 1)[0] = sum;
  }
}

/// Where the results go, a column at a time.
template <class T>
struct ColumnOutput {
  std::byte* out;
  std::int64_t step;
  RowColumns<1> columns;
  gpukern_reduce reduce;
  std::uint64_t flip;

  __device__ void store(std::int64_t bag, std::int64_t column, Accumulator<T> sum,
                        std::int64_t items) const {
    store_element(out + bag * step + columns.target_offset(column),
                  items > 0 ? finished<T>(reduce, flipped(sum, flip), items) : T{},
                  columns.aligned);
  }
};

/// Reduces every long bag, each by `width` threads.
template <class T>
__device__ __noinline__ void reduce_long_bags(const BagRanges& ranges, const ItemRows& rows,
                                              const ColumnOutput<T>& output, std::int64_t bags,
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
        A sum[1] = {identity<A>(output.reduce)};
        number += combine_items<T, true>(rows, items.block(b), RowGroup{0, 1}, true,
                                         output.columns.value_offset(column),
                                         output.columns.aligned, output.reduce, sum);
        return sum[0];
      };
      const A sum = join_blocks<A>(block, 0, items.blocks(), output.reduce);
      output.store(bag, column, sum, number);
    }
  }
}

/// Joins the parts of a long bag for `width` columns at a time.
template <class T>
__global__ void __launch_bounds__(kJoinThreads)
    join_parts_kernel(const __grid_constant__ BagRanges ranges,
                      const __grid_constant__ ItemRows rows,
                      const __grid_constant__ ColumnOutput<T> output, std::int64_t bags, int width,
                      LongBags long_bags) {
  using A = Accumulator<T>;
  if (long_bags.is_void()) return reduce_long_bags(ranges, rows, output, bags, width);
  const RowColumns<1>& columns = output.columns;
  __shared__ alignas(A) std::byte memory[kJoinThreads * sizeof(A)];
  A* const joined = reinterpret_cast<A*>(memory);
  const std::int64_t tiles = (columns.count + width - 1) / width;
  const auto number = static_cast<std::int64_t>(long_bags.counts->bags);
  for (std::int64_t work = blockIdx.x; work < number * tiles; work += gridDim.x) {
    const LongBag bag = long_bags.bags[work / tiles];
    const std::int64_t column =
        work % tiles * width + static_cast<std::int64_t>(threadIdx.x) % width;
    const bool active = column < columns.count;
    const A* const sums = long_bags.sums_of<A>(bag.first, columns.count) + column;
    const auto block = [&](std::int64_t b) { return sums[b * columns.count]; };
    const A sum =
        join_by_threads<kJoinThreads>(block, bag.blocks, width, active, output.reduce, joined);
    if (!active || static_cast<int>(threadIdx.x) >= width) continue;
    output.store(bag.bag, column, sum, static_cast<std::int64_t>(bag.items));
  }
}

std::int64_t resident_grid() { return std::int64_t{8} * device_facts().multiprocessors; }

}  // namespace

void reduce_parts(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  const auto launch_parts = [&]<class T, int kCount>(TypeTag<T>,
                                                     const RowColumns<kCount>& columns) {
    launch(reduce_parts_kernel<T, kCount>, Grid{resident_grid(), kPartThreads}, call.stream,
           bag_ranges(args), item_rows(args), columns, row_shares(call.columns, kCount),
           args.reduce, long_bags);
  };
  visit_columns(call, [&]<class T, int kCount, bool kAny>(TypeTag<T> tag,
                                                          const RowColumns<kCount, kAny>& columns) {
    if constexpr (kCount > 1) {
      launch_parts(tag, columns);
    } else if (!kAny && call.columns == 1) {
      launch(reduce_column_kernel<T>, Grid{resident_grid(), kColumnThreads<T>}, call.stream,
             bag_ranges(args), item_rows(args), args.reduce, long_bags);
    } else {
      launch_parts(tag, RowColumns<1>{columns.loop, columns.count, columns.aligned});
    }
  });
}

void join_parts(const GatherReduceCall& call, const LongBags& long_bags) {
  const GatherReduceArgs& args = call.args;
  visit_type(call, [&]<class T>(TypeTag<T>) {
    const ColumnOutput<T> output{args.out,
                                 args.out_step,
                                 {args.columns, call.columns, is_aligned(args, alignof(T))},
                                 args.reduce,
                                 sign_bit(args)};
    launch(join_parts_kernel<T>, Grid{resident_grid(), kJoinThreads}, call.stream, bag_ranges(args),
           item_rows(args), output, args.bags, row_shares(call.columns, 1).lanes, long_bags);
  });
}

}  // namespace gpukern::gpu

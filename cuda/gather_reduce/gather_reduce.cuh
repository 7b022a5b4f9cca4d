// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather_reduce on the GPU: what its passes share.
//
// A group of threads has a bag, each thread some columns of it, so that rows are read whole. Rows
// before the axis are a batch:
//   bags      reduces each bag of at most one block, and lists the longer ones; then combines the
//             blocks of those, each by another group of threads,
//   segments  is the same for segments of contiguous rows of few elements,
//   join      joins the blocks of each long bag, and does what is rare and would take registers
//             from the other.
// So items are shared evenly, whatever the lengths of the bags. Few items in few bags take one
// launch instead, in which a thread block has all of a bag.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/gather_reduce/combine.cuh"
#include "src/core/operation.hpp"

namespace gpukern::gpu {

static_assert(kOutColumn == 0 && kSourceColumn == 1, "the operands of RowColumns");

/// A bag of several blocks, whose sums begin at number `first`.
struct LongBag {
  std::int64_t bag;
  std::int64_t first;
  std::int64_t blocks;
  unsigned long long items;  ///< combined so far
};

/// The long bags in any order, and the sums of their blocks in the same order. If bags overlap,
/// because offsets fall, there may be more blocks than there is room for: the list is void then,
/// and the last pass reduces every long bag.
struct LongBags {
  static constexpr int kBlockBits = 32;
  static constexpr std::int64_t kMostBags = (std::int64_t{1} << (kBlockBits - 1)) - 1;
  struct Counts {
    unsigned long long listed;  ///< bags in the upper 32 bits, their blocks in the lower ones
    unsigned long long is_void;
  };
  Counts* counts;
  LongBag* bag;
  std::byte* sums;  ///< an accumulator for each column of each block
  std::int64_t most_bags;
  std::int64_t most_blocks;

  /// Lists the long bags of a warp, all of whose threads call this; `is_counted`: all items count.
  __device__ void list(bool is_long, std::int64_t number, const ItemRange& items,
                       bool is_counted) const {
    if (!__any_sync(kAllLanes, is_long)) return;
    const unsigned long long own = is_long ? packed(1, items.blocks()) : 0;
    unsigned long long until = own;  // the sum over the lanes up to this one
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const unsigned long long before = __shfl_up_sync(kAllLanes, until, step);
      if (lane >= step) until += before;
    }
    unsigned long long listed = 0;
    if (lane == kWarp - 1) listed = atomicAdd(&counts->listed, until);
    listed = __shfl_sync(kAllLanes, listed, kWarp - 1);
    if (is_long)
      add(listed + until - own, number, items,
          is_counted ? static_cast<unsigned long long>(items.end - items.begin) : 0ULL);
  }
  [[nodiscard]] __device__ bool is_void() const { return counts->is_void != 0; }
  [[nodiscard]] __device__ std::int64_t bags() const {
    return static_cast<std::int64_t>(counts->listed >> kBlockBits);
  }
  [[nodiscard]] __device__ std::int64_t blocks() const {
    return static_cast<std::int64_t>(counts->listed & 0xffffffff);
  }
  /// The bag that has the sum of this number.
  [[nodiscard]] __device__ std::int64_t bag_of(std::int64_t sum) const {
    std::int64_t begin = 0;
    for (std::int64_t end = bags(); end - begin > 1;) {
      const std::int64_t middle = (begin + end) / 2;
      (bag[middle].first <= sum ? begin : end) = middle;
    }
    return begin;
  }
  template <class A>
  [[nodiscard]] __device__ A* sums_of(std::int64_t block, std::int64_t columns) const {
    return reinterpret_cast<A*>(sums) + block * columns;
  }

 private:
  [[nodiscard]] __device__ static unsigned long long packed(std::int64_t bags,
                                                            std::int64_t blocks) {
    return (static_cast<unsigned long long>(bags) << kBlockBits) +
           static_cast<unsigned long long>(blocks);
  }
  /// `listed`: what counts->listed was before. The first bag without room finds that number exact,
  /// since the blocks before it have room; so the list is void before they could overflow.
  __device__ void add(unsigned long long listed, std::int64_t number, const ItemRange& items,
                      unsigned long long combined) const {
    const auto entry = static_cast<std::int64_t>(listed >> kBlockBits);
    const auto first = static_cast<std::int64_t>(listed & 0xffffffff);
    if (entry < most_bags && first + items.blocks() <= most_blocks)
      bag[entry] = {number, first, items.blocks(), combined};
    else
      counts->is_void = 1;
  }
};

/// Where the results go.
template <class Columns>
struct BagOutput {
  std::byte* out;
  std::int64_t step;
  Columns columns;
  Reduction reduction;

  /// Writes the result of `number` items to the columns at offset `to`.
  template <class T, int kCount>
  __device__ void store(std::int64_t bag, std::int64_t to, std::int64_t number,
                        Accumulator<T> (&sum)[kCount]) const {
    gpukern_reduce reduce = reduction.reduce;
    if (number == 0) {
      number = 1;
      reduce = GPUKERN_REDUCE_ADD;
#pragma unroll
      for (int c = 0; c < kCount; ++c) sum[c] = Accumulator<T>{};
    }
    store_columns<T>(out + bag * step + to, columns.is_aligned(), reduce, number, sum);
  }
};

/// Rows of columns that are reduced by the same bags, as those along a middle axis; their strides.
struct Batch {
  std::int64_t count;
  std::int64_t from;
  std::int64_t to;
  bool is_inner;  ///< nearer to each other in memory than the items of a bag

  struct Member {
    std::int64_t row;  ///< a bag, or a block of a long one
    std::int64_t number;
  };
  /// Member `position` of `rows * count`, so that neighbours are near in memory.
  [[nodiscard]] __device__ Member member(std::int64_t position, std::int64_t rows) const {
    if (count == 1) return {position, 0};
    const std::int64_t quotient = position / (is_inner ? count : rows);
    if (is_inner) return {quotient, position - quotient * count};
    return {position - quotient * rows, quotient};
  }
};

/// The passes' view of a call.
struct GatherReduceCall {
  GatherReduceCall(const GatherReduceArgs& given, cudaStream_t given_stream);

  const GatherReduceArgs& args;
  cudaStream_t stream;
  std::int64_t all_columns;
  Batch batch;
  Loop<2> row;           ///< the columns of one member of the batch
  std::int64_t columns;  ///< their number
};

BagRanges bag_ranges(const GatherReduceArgs& args);
/// Of a call whose layout is plain.
BagOutput<RowColumns<1, false>> column_output(const GatherReduceCall& call);
ItemRows item_rows(const GatherReduceArgs& args);

/// Whether rows of source and out are aligned to `bytes`: with the strides of their columns, or,
/// for contiguous columns, without.
bool is_aligned(const GatherReduceCall& call, std::int64_t bytes, bool with_columns = true);

/// Whether all accesses are aligned and the dimensions of rows and columns are merged into one.
bool is_plain(const GatherReduceCall& call, std::int64_t alignment);

/// Whether the columns are vectors of kCount elements, contiguous and aligned to such.
template <class T, int kCount>
bool has_column_vectors(const GatherReduceCall& call) {
  return are_vectors<T, kCount>(call.row, call.columns) &&
         is_aligned(call, alignof(Vector<T, kCount>), false);
}

/// Elements that a thread accesses together in many short bags: two vectors of floating-point
/// numbers, since what all threads of a bag repeat, such as finding its rows, takes most of their
/// time; one of others, whose kernels would be larger than their use.
template <class T>
inline constexpr int kWideColumns =
    (std::is_floating_point_v<Accumulator<T>> ? 2 : 1) * kVectorColumns<T>;

/// Whether bags have few items and occupy the GPU with threads of `width` columns.
bool are_many_short_bags(const GatherReduceCall& call, int width);

/// Calls visit(TypeTag<T>{}, RowColumns<kCount, kAny>{...}) with that type and the columns as a
/// thread accesses them. kMayBeWide: of many short bags, kWideColumns of them.
template <bool kMayBeWide, class Visit>
void visit_columns(const GatherReduceCall& call, const Visit& visit) {
  const LoopOffsets offsets(call.row);
  visit_combined_type(call.args.dtype, [&]<class T>(TypeTag<T> tag) {
    if (!is_plain(call, alignof(T)))
      return visit(tag, RowColumns<1, true>{offsets, call.columns, is_aligned(call, alignof(T))});
    constexpr int kVector = kVectorColumns<T>;
    constexpr int kWide = kWideColumns<T>;
    if constexpr (kMayBeWide && kWide > kVector)
      if (are_many_short_bags(call, kWide) && has_column_vectors<T, kWide>(call))
        return visit(tag, RowColumns<kWide, false>{offsets, call.columns, true});
    if constexpr (kVector > 1)
      if (has_column_vectors<T, kVector>(call))
        return visit(tag, RowColumns<kVector, false>{offsets, call.columns, true});
    visit(tag, RowColumns<1, false>{offsets, call.columns, true});
  });
}

/// Whether the bags are segments of contiguous rows of few elements, which have kernels for them.
bool are_segments(const GatherReduceCall& call);
void reduce_segments(const GatherReduceCall& call, const LongBags& long_bags);
void reduce_long_segments(const GatherReduceCall& call, const LongBags& long_bags);

/// Whether the bags, or segments of single elements, are few enough for one launch.
bool are_few_bags(const GatherReduceCall& call);
void reduce_few_bags(const GatherReduceCall& call);
bool are_few_segments(const GatherReduceCall& call);
void reduce_few_segments(const GatherReduceCall& call);

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags);
void reduce_long_bags(const GatherReduceCall& call, const LongBags& long_bags);
void join_long_bags(const GatherReduceCall& call, const LongBags& long_bags);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather_reduce on the GPU: what its passes share.
//
// A group of threads has a bag, each thread some columns of it, so that rows are read whole:
//   bags   reduces each bag of up to kShortBlocks blocks, and lists the blocks of longer ones,
//   parts  combines the listed blocks, each by a separate group of threads,
//   join   joins the blocks of each long bag.
// So the time does not depend on how the items are shared among the bags.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cuda/common/elements.cuh"
#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "src/core/operation.hpp"
#include "src/core/reduce.hpp"

namespace gpukern::gpu {

static_assert(kOutColumn == 0 && kSourceColumn == 1, "the operands of RowColumns");

/// Bags of up to this many blocks are reduced by one group.
inline constexpr int kShortBlocks = 4;

/// Items [begin, end).
struct ItemRange {
  std::int64_t begin;
  std::int64_t end;

  [[nodiscard]] __device__ std::int64_t blocks() const {
    return (end - begin + kBlockValues - 1) / kBlockValues;
  }
  /// The items of a block; none beyond the last one.
  [[nodiscard]] __device__ ItemRange block(std::int64_t number) const {
    const std::int64_t first = begin + number * kBlockValues;
    return {first, min(first + kBlockValues, end)};
  }
};

/// The ranges of the bags.
struct BagRanges {
  const std::byte* offsets;
  std::int64_t step;
  std::int64_t count;  ///< items
  IndexType type;
  bool aligned;

  [[nodiscard]] __device__ std::int64_t offset(std::int64_t bag) const {
    return clip_offset(load_index(offsets + bag * step, type, aligned), type.is_signed, count);
  }
  [[nodiscard]] __device__ ItemRange operator[](std::int64_t bag) const {
    const std::int64_t begin = offset(bag);
    return {begin, max(begin, offset(bag + 1))};
  }
};

/// The rows of the items, and their weights.
struct ItemRows {
  const std::byte* source;
  const std::byte* index;    ///< nullptr: item i is at position i
  const std::byte* weights;  ///< nullptr for none
  std::int64_t index_step;
  std::int64_t weight_step;
  std::int64_t n;
  Loop<1> axis;
  IndexType index_type;
  gpukern_index_mode mode;
  bool index_aligned;
  bool weights_aligned;

  /// The first columns of `number` items from `first` on; nullptr for those that mode "fill" leaves
  /// out, and beyond `number`. All indices are loaded before the first use.
  template <int kItems>
  __device__ void find(std::int64_t first, int number, const std::byte* (&row)[kItems]) const {
    std::int64_t position[kItems];
    if (index == nullptr) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) position[k] = first + k;
    } else {
      load_indices(first, number, position);
#pragma unroll
      for (int k = 0; k < kItems; ++k)
        position[k] = resolve_index(mode, position[k], index_type.is_signed, n);
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      row[k] = k < number && position[k] >= 0
                   ? source + offset_at(axis, static_cast<std::uint64_t>(position[k]))
                   : nullptr;
  }

 private:
  template <int kItems>
  __device__ void load_indices(std::int64_t first, int number,
                               std::int64_t (&value)[kItems]) const {
    switch (index_aligned ? index_type.bytes : 0) {
      case 1:
        return load_indices_as<std::uint8_t>(first, number, value);
      case 2:
        return load_indices_as<std::uint16_t>(first, number, value);
      case 4:
        return load_indices_as<std::uint32_t>(first, number, value);
      case 8:
        return load_indices_as<std::uint64_t>(first, number, value);
      default:
        for (int k = 0; k < kItems; ++k)
          value[k] =
              k < number ? load_index(index + (first + k) * index_step, index_type, false) : 0;
    }
  }

  template <class Raw, int kItems>
  __device__ void load_indices_as(std::int64_t first, int number,
                                  std::int64_t (&value)[kItems]) const {
    Raw raw[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      raw[k] = k < number ? *reinterpret_cast<const Raw*>(index + (first + k) * index_step) : Raw{};
#pragma unroll
    for (int k = 0; k < kItems; ++k) value[k] = as_index(raw[k], index_type.is_signed);
  }
};

/// Combines items for kCount neighbouring columns at an offset of their rows, and returns their
/// number without those that are left out. All values of a batch are loaded before the first use.
template <class T, int kCount>
__device__ std::int64_t combine_items(const ItemRows& rows, const ItemRange& items,
                                      std::int64_t offset, bool aligned, gpukern_reduce reduce,
                                      Accumulator<T> (&sum)[kCount]) {
  constexpr int kInFlight = 4;
  using A = Accumulator<T>;
  std::int64_t combined = 0;
  for (std::int64_t first = items.begin; first < items.end; first += kInFlight) {
    const std::byte* row[kInFlight];
    rows.find(first, static_cast<int>(min(items.end - first, std::int64_t{kInFlight})), row);
    A value[kInFlight][kCount];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k)
      if (row[k] != nullptr) load_columns<T>(row[k] + offset, aligned, value[k]);
    if (rows.weights != nullptr) {
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        if (row[k] == nullptr) continue;
        const A weight = widened(
            load_element<T>(rows.weights + (first + k) * rows.weight_step, rows.weights_aligned));
#pragma unroll
        for (int c = 0; c < kCount; ++c) value[k][c] = multiplied(value[k][c], weight);
      }
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (row[k] == nullptr) continue;
      ++combined;
#pragma unroll
      for (int c = 0; c < kCount; ++c) sum[c] = combine(reduce, sum[c], value[k][c]);
    }
  }
  return combined;
}

/// A block of a long bag; `entry` is its place in the list, or -1 for none.
struct BagPart {
  std::int64_t entry;
  std::int64_t block;
};

/// A bag with more than kShortBlocks blocks. Their sums begin at number `first`.
struct LongBag {
  std::int64_t bag;
  std::int64_t first;
  std::int64_t blocks;
  unsigned long long items;  ///< combined so far
};

/// The blocks of long bags. `capacity` suffices for offsets that do not fall; bags that do not fit
/// are reduced by one group.
struct LongBags {
  unsigned long long* used;    ///< parts, maybe more than there is room for
  unsigned long long* number;  ///< of bags
  BagPart* parts;
  LongBag* bags;
  std::byte* sums;  ///< an accumulator for each column of each part
  std::int64_t capacity;

  template <class A>
  [[nodiscard]] __device__ A* sums_of(std::int64_t part, std::int64_t columns) const {
    return reinterpret_cast<A*>(sums) + part * columns;
  }
};

/// The passes' view of a call.
struct GatherReduceCall {
  const GatherReduceArgs& args;
  std::int64_t columns;
  cudaStream_t stream;
};

BagRanges bag_ranges(const GatherReduceArgs& args);
ItemRows item_rows(const GatherReduceArgs& args);

/// Whether rows of source and out are aligned to `bytes`: with the strides of their columns, or,
/// for contiguous columns, without.
bool is_aligned(const GatherReduceArgs& args, std::int64_t bytes, bool with_columns = true);

/// How groups of threads share the columns of rows: each has a span of them, so that few bags of
/// long rows occupy the GPU, too.
struct RowShares {
  int lanes;            ///< threads of a group, which access neighbouring columns
  std::int64_t span;    ///< columns of a group
  std::int64_t groups;  ///< that share a row

  struct Columns {
    std::int64_t row;
    std::int64_t begin;
    std::int64_t end;
  };
  /// The row of a group, and the columns from the first one of this thread on.
  [[nodiscard]] __device__ Columns of(std::int64_t group, int lane, int each,
                                      std::int64_t columns) const {
    const std::int64_t row = groups == 1 ? group : group / groups;
    const std::int64_t first = (group - row * groups) * span;
    return {row, first + std::int64_t{lane} * each, min(first + span, columns)};
  }
};

inline RowShares row_shares(std::int64_t columns, int each) {
  constexpr std::int64_t kPasses = 4;
  const auto accesses = static_cast<std::uint64_t>(ceil_divide(columns, each));
  const auto lanes = static_cast<int>(std::min<std::uint64_t>(std::bit_ceil(accesses), 32));
  const std::int64_t span = kPasses * lanes * each;
  return {lanes, span, ceil_divide(columns, span)};
}

/// Calls visit(TypeTag<T>{}, std::integral_constant<int, n>{}) with the type of the elements and
/// the number of them that a thread accesses together.
template <class Visit>
void visit_columns(const GatherReduceCall& call, const Visit& visit) {
  visit_reduced_dtype(call.args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVector = kVectorColumns<T>;
    if constexpr (kVector > 1)
      if (are_vectors<T, kVector>(call.args.columns, call.columns) &&
          is_aligned(call.args, alignof(Vector<T, kVector>), false))
        return visit(tag, std::integral_constant<int, kVector>{});
    visit(tag, std::integral_constant<int, 1>{});
  });
}

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags);
void reduce_parts(const GatherReduceCall& call, const LongBags& long_bags);
void join_parts(const GatherReduceCall& call, const LongBags& long_bags);

}  // namespace gpukern::gpu

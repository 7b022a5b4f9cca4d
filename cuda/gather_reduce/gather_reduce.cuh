// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather_reduce on the GPU: what its passes share.
//
// A group of threads has a bag, each thread some columns of it, so that rows are read whole:
//   bags   reduces each bag of at most one block, and lists the blocks of longer ones,
//   parts  combines the listed blocks, each by another group of threads,
//   join   joins the blocks of each long bag, and does what is rare and would take registers from
//          the other two.
// So items are shared evenly, whatever the lengths of the bags.
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

/// The ranges of the bags. Here and below, without kAny all accesses are aligned and dimensions are
/// merged into one: code for other layouts takes twice the registers.
struct BagRanges {
  const std::byte* offsets;
  std::int64_t step;
  std::int64_t count;  ///< items
  IndexType type;
  bool aligned;

  template <bool kAny>
  [[nodiscard]] __device__ ItemRange of(std::int64_t bag) const {
    const std::int64_t begin = offset(bag, !kAny || aligned);
    return {begin, max(begin, offset(bag + 1, !kAny || aligned))};
  }

 private:
  [[nodiscard]] __device__ std::int64_t offset(std::int64_t bag, bool is_aligned) const {
    return clip_offset(load_index(offsets + bag * step, type, is_aligned), type.is_signed, count);
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
  std::uint64_t flip;  ///< see flipped()

  /// The first columns of `number` items from `first` on; nullptr for those that mode "fill" leaves
  /// out, and beyond `number`. All indices are loaded before the first use.
  template <bool kAny, int kItems>
  __device__ void find(std::int64_t first, int number, const std::byte* (&row)[kItems]) const {
    std::int64_t position[kItems];
    if (index == nullptr) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) position[k] = first + k;
    } else {
      load_indices<kAny>(first, number, position);
#pragma unroll
      for (int k = 0; k < kItems; ++k)
        position[k] = resolve_index(mode, position[k], index_type.is_signed, n);
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      row[k] = k < number && position[k] >= 0 ? source + offset<kAny>(position[k]) : nullptr;
  }

 private:
  template <bool kAny>
  [[nodiscard]] __device__ std::int64_t offset(std::int64_t position) const {
    if constexpr (kAny) return offset_at(axis, static_cast<std::uint64_t>(position));
    return axis.ndim == 0 ? 0 : position * axis.stride[0][0];
  }

  template <bool kAny, int kItems>
  __device__ void load_indices(std::int64_t first, int number,
                               std::int64_t (&value)[kItems]) const {
    if constexpr (kAny) {
      if (!index_aligned) {
        for (int k = 0; k < kItems; ++k)
          value[k] =
              k < number ? load_index(index + (first + k) * index_step, index_type, false) : 0;
        return;
      }
    }
    switch (index_type.bytes) {
      case 1:
        return load_indices_as<std::uint8_t>(first, number, value);
      case 2:
        return load_indices_as<std::uint16_t>(first, number, value);
      case 4:
        return load_indices_as<std::uint32_t>(first, number, value);
      default:
        return load_indices_as<std::uint64_t>(first, number, value);
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

/// Consecutive threads of a warp that reduce the same items, each some columns: a power of two.
struct RowGroup {
  int lane;
  int lanes;

  [[nodiscard]] __device__ unsigned mask() const {
    constexpr unsigned kWarp = 32;
    const unsigned first = threadIdx.x % kWarp - static_cast<unsigned>(lane);
    return (~0U >> (kWarp - static_cast<unsigned>(lanes))) << first;
  }
};

/// Signed integers are reduced as unsigned ones, so that fewer kernels are compiled: sums have the
/// same bits, and extremes do with the sign bit, `flip`, inverted before and after.
template <class A>
__device__ A flipped(A value, std::uint64_t flip) {
  if constexpr (std::is_integral_v<A>) return static_cast<A>(value ^ static_cast<A>(flip));
  return value;
}

/// Combines a batch of rows at an offset, without those that are nullptr. `first` is the item of
/// the first row. All values are loaded before the first use.
template <class T, bool kAny, int kInFlight, int kCount>
__device__ void combine_rows(const ItemRows& rows, std::int64_t first,
                             const std::byte* const (&row)[kInFlight], std::int64_t offset,
                             bool aligned, gpukern_reduce reduce, Accumulator<T> (&sum)[kCount]) {
  using A = Accumulator<T>;
  A value[kInFlight][kCount];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (row[k] != nullptr) load_columns<T>(row[k] + offset, aligned, value[k]);
  if (rows.weights != nullptr) {
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (row[k] == nullptr) continue;
      const A weight = widened(load_element<T>(rows.weights + (first + k) * rows.weight_step,
                                               !kAny || rows.weights_aligned));
#pragma unroll
      for (int c = 0; c < kCount; ++c) value[k][c] = multiplied(value[k][c], weight);
    }
  }
  const auto combine_all = [&](gpukern_reduce each) {
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (row[k] == nullptr) continue;
#pragma unroll
      for (int c = 0; c < kCount; ++c)
        sum[c] = combine(each, sum[c], flipped(value[k][c], rows.flip));
    }
  };
  if (reduce == GPUKERN_REDUCE_MIN || reduce == GPUKERN_REDUCE_MAX)
    combine_all(reduce);
  else
    combine_all(GPUKERN_REDUCE_ADD);
}

/// Combines items for kCount neighbouring columns at an offset of their rows, and returns their
/// number without those that are left out. All threads of the group call it; one that has no
/// columns is not `active`. Threads of large groups find a row each and tell the others.
template <class T, bool kAny, int kCount>
__device__ std::int64_t combine_items(const ItemRows& rows, const ItemRange& items,
                                      const RowGroup& group, bool active, std::int64_t offset,
                                      bool aligned, gpukern_reduce reduce,
                                      Accumulator<T> (&sum)[kCount]) {
  constexpr int kFew = 4;
  constexpr int kMany = kCount == 1 ? 8 : 4;
  std::int64_t combined = 0;
  if (rows.index == nullptr || group.lanes < kMany) {
    if (!active) return 0;
    for (std::int64_t first = items.begin; first < items.end; first += kFew) {
      const std::byte* row[kFew];
      rows.find<kAny>(first, static_cast<int>(min(items.end - first, std::int64_t{kFew})), row);
      combine_rows<T, kAny>(rows, first, row, offset, aligned, reduce, sum);
#pragma unroll
      for (int k = 0; k < kFew; ++k) combined += row[k] != nullptr;
    }
    return combined;
  }
  const unsigned mask = group.mask();
  for (std::int64_t chunk = items.begin; chunk < items.end; chunk += group.lanes) {
    const std::byte* own[1];
    const bool has_own = group.lane < items.end - chunk;
    rows.find<kAny>(chunk + group.lane, has_own ? 1 : 0, own);
    const std::int64_t end = min(chunk + group.lanes, items.end);
    for (std::int64_t first = chunk; first < end; first += kMany) {
      const std::byte* row[kMany];
#pragma unroll
      for (int k = 0; k < kMany; ++k) {
        const auto address = reinterpret_cast<unsigned long long>(own[0]);
        const auto from = static_cast<int>(first - chunk) + k;
        row[k] = reinterpret_cast<const std::byte*>(__shfl_sync(mask, address, from, group.lanes));
        combined += row[k] != nullptr;
        if (!active) row[k] = nullptr;
      }
      combine_rows<T, kAny>(rows, first, row, offset, aligned, reduce, sum);
    }
  }
  return combined;
}

/// A block of a long bag; `entry` is its place in the list.
struct BagPart {
  std::int64_t entry;
  std::int64_t block;
};

/// A bag of several blocks. Their sums begin at number `first`.
struct LongBag {
  std::int64_t bag;
  std::int64_t first;
  std::int64_t blocks;
  unsigned long long items;  ///< combined so far
};

/// The blocks of long bags. `capacity` suffices for offsets that do not fall. If it does not
/// suffice, the list is void, and the last pass reduces every long bag.
struct LongBags {
  struct Counts {
    unsigned long long parts;  ///< maybe more than there is room for
    unsigned long long bags;
    unsigned long long unlisted;  ///< 1 if a bag had no room
  };
  Counts* counts;
  BagPart* parts;
  LongBag* bags;
  std::byte* sums;  ///< an accumulator for each column of each part
  std::int64_t capacity;

  [[nodiscard]] __device__ bool is_void() const { return counts->unlisted != 0; }
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
/// The bit for flipped().
std::uint64_t sign_bit(const GatherReduceArgs& args);

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

/// Whether all accesses are aligned and the dimensions of rows and columns are merged into one.
bool is_plain(const GatherReduceArgs& args, std::int64_t alignment);

/// Calls visit(TypeTag<T>{}) with the type as which the elements are reduced.
template <class Visit>
void visit_type(const GatherReduceCall& call, const Visit& visit) {
  visit_reduced_dtype(call.args.dtype, [&]<class T>(TypeTag<T>) {
    visit(TypeTag<typename ReducedAs<T, GPUKERN_REDUCE_ADD>::Type>{});
  });
}

/// Calls visit(TypeTag<T>{}, RowColumns<kCount, kAny>{...}) with that type and the columns as a
/// thread accesses them.
template <class Visit>
void visit_columns(const GatherReduceCall& call, const Visit& visit) {
  const GatherReduceArgs& args = call.args;
  visit_type(call, [&]<class T>(TypeTag<T> tag) {
    constexpr int kVector = kVectorColumns<T>;
    if (!is_plain(args, alignof(T)))
      return visit(tag,
                   RowColumns<1, true>{args.columns, call.columns, is_aligned(args, alignof(T))});
    if constexpr (kVector > 1)
      if (are_vectors<T, kVector>(args.columns, call.columns) &&
          is_aligned(args, alignof(Vector<T, kVector>), false))
        return visit(tag, RowColumns<kVector, false>{args.columns, call.columns, true});
    visit(tag, RowColumns<1, false>{args.columns, call.columns, true});
  });
}

void reduce_bags(const GatherReduceCall& call, const LongBags& long_bags);
void reduce_parts(const GatherReduceCall& call, const LongBags& long_bags);
void join_parts(const GatherReduceCall& call, const LongBags& long_bags);

}  // namespace gpukern::gpu

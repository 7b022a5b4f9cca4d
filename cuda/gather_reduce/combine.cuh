// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How threads combine the items of bags.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/common/elements.cuh"
#include "cuda/common/indexing.cuh"
#include "cuda/common/reduction.cuh"
#include "cuda/common/thread_groups.cuh"

namespace gpukern::gpu {

/// Thread blocks of 128 threads that a multiprocessor shall have room for: more hide more latency,
/// until accumulators leave the registers.
template <class T, int kCount>
inline constexpr int kResidentBlocks =
    (sizeof(Accumulator<T>) > 8 || sizeof(Accumulator<T>) * kCount > 16) ? 4 : 6;

/// Items [begin, end).
struct ItemRange {
  std::int64_t begin;
  std::int64_t end;

  [[nodiscard]] __device__ std::int64_t blocks() const {
    return (end - begin + kBlockValues - 1) / kBlockValues;
  }
  /// The items of a block; none beyond the last one.
  [[nodiscard]] __device__ ItemRange block(std::int64_t number) const {
    const std::int64_t first = min(begin + number * kBlockValues, end);
    return {first, min(first + kBlockValues, end)};
  }
};

/// The range of the first thread of a group: offsets may change during a call, and all threads must
/// take the same branches.
inline __device__ ItemRange agreed(const ThreadGroups& threads, const ItemRange& range) {
  return {threads.agreed(range.begin), threads.agreed(range.end)};
}

/// The ranges of the bags: empty where offsets fall. Here and below, without kAny all accesses are
/// aligned and dimensions are merged into one: code for other layouts takes twice the registers.
struct BagRanges {
  const std::byte* offsets;
  std::int64_t step;
  std::int64_t count;  ///< items
  IndexType type;
  bool aligned;

  template <bool kAny>
  [[nodiscard]] __device__ ItemRange of(std::int64_t bag) const {
    const std::byte* const from = offsets + bag * step;
    std::int64_t value[2];
    if (kAny && !aligned) {
      for (int k = 0; k < 2; ++k) value[k] = load_index(from + k * step, type, false);
    } else {
      load_indices(type, [&](int k) { return from + k * step; }, value);
    }
    const std::int64_t begin = clip_offset(value[0], type.is_signed, count);
    return {begin, max(begin, clip_offset(value[1], type.is_signed, count))};
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
  LoopOffsets<1> axis;
  IndexType index_type;
  gpukern_index_mode mode;
  bool index_aligned;
  bool weights_aligned;

  /// The first columns of `number` items from `first` on; nullptr for those that mode "fill" leaves
  /// out, and beyond `number`. All indices are loaded before the first use.
  template <bool kAny, int kItems>
  __device__ void find(std::int64_t first, int number, const std::byte* (&row)[kItems]) const {
    std::int64_t position[kItems];
    if (index == nullptr) {
#pragma unroll
      for (int k = 0; k < kItems; ++k) position[k] = first + k;
    } else {
      load<kAny>(first, number, position);
      bool plain = true;
#pragma unroll
      for (int k = 0; k < kItems; ++k)
        plain = plain && static_cast<std::uint64_t>(position[k]) < static_cast<std::uint64_t>(n);
      if (!plain) {
#pragma unroll
        for (int k = 0; k < kItems; ++k) position[k] = resolved(position[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      row[k] = k < number && position[k] >= 0 ? source + offset<kAny>(position[k]) : nullptr;
  }

 private:
  /// Not inlined: few indices need it, and its code is longer than all the rest.
  [[nodiscard]] __device__ __noinline__ std::int64_t resolved(std::int64_t value) const {
    return resolve_index(mode, value, index_type.is_signed, n);
  }

  template <bool kAny>
  [[nodiscard]] __device__ std::int64_t offset(std::int64_t position) const {
    if constexpr (kAny) return axis.at(position).offset[0];
    return position * axis.step(0);
  }

  template <bool kAny, int kItems>
  __device__ void load(std::int64_t first, int number, std::int64_t (&value)[kItems]) const {
    if constexpr (kAny) {
      if (!index_aligned) {
        for (int k = 0; k < kItems; ++k)
          value[k] =
              k < number ? load_index(index + (first + k) * index_step, index_type, false) : 0;
        return;
      }
    }
    load_indices(
        index_type, [&](int k) { return index + (first + k) * index_step; },
        [&](int k) { return k < number; }, value);
  }
};

/// Calls body(kind) with a reduction that compilers know to be a sum or an extreme, so that a loop
/// does not distinguish them for each element. Bags have no products.
template <class Body>
__device__ void with_kind(const Reduction& reduction, const Body& body) {
  if (reduction.reduce == GPUKERN_REDUCE_MIN || reduction.reduce == GPUKERN_REDUCE_MAX)
    body(ExtremeReduction{reduction});
  else
    body(Reduction{GPUKERN_REDUCE_ADD, 0});
}

/// Combines a batch of rows at an offset, without those that are nullptr. `first` is the item of
/// the first row. All values are loaded before the first use.
template <class T, bool kAny, int kInFlight, int kCount>
__device__ void combine_rows(const ItemRows& rows, std::int64_t first,
                             const std::byte* const (&row)[kInFlight], std::int64_t offset,
                             bool aligned, const Reduction& reduction,
                             Accumulator<T> (&sum)[kCount]) {
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
  const auto combine_all = [&](const auto& kind) {
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (row[k] == nullptr) continue;
#pragma unroll
      for (int c = 0; c < kCount; ++c) sum[c] = combine(kind, sum[c], value[k][c]);
    }
  };
  if constexpr (kAny)
    combine_all(reduction);
  else
    with_kind(reduction, combine_all);
}

/// Combines `number` rows from `row` on, at most a block. They are aligned, and have no weights.
template <class T, int kCount>
__device__ void combine_neighbours(const std::byte* row, std::int64_t step, int number,
                                   const Reduction& reduction, Accumulator<T> (&sum)[kCount]) {
  constexpr int kInFlight = kCount > 1 ? 6 : 8;  // in the registers that kResidentBlocks leaves
  with_kind(reduction, [&](const auto& kind) {
    for (int first = 0; first < number; first += kInFlight) {
      Accumulator<T> value[kInFlight][kCount];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        if (first + k < number) load_columns<T>(row + (first + k) * step, true, value[k]);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        if (first + k >= number) break;
#pragma unroll
        for (int c = 0; c < kCount; ++c) sum[c] = combine(kind, sum[c], value[k][c]);
      }
    }
  });
}

/// Combines items for kCount neighbouring columns at an offset of their rows, and returns their
/// number without those that are left out. All threads of the group call it; one that has no
/// columns is not `active`. Threads of large groups find a row each and tell the others.
template <class T, bool kIndexed, bool kAny, int kCount>
__device__ std::int64_t combine_items(const ItemRows& rows, const ItemRange& items,
                                      const ThreadGroups& group, bool active, std::int64_t offset,
                                      bool aligned, const Reduction& reduction,
                                      Accumulator<T> (&sum)[kCount]) {
  constexpr int kFew = 4;
  constexpr int kMany = kCount == 1 && !kAny ? 8 : 4;
  std::int64_t combined = 0;
  if constexpr (!kIndexed) {
    static_assert(!kAny);
    const std::int64_t step = rows.axis.step(0);
    if (active && items.begin < items.end)
      combine_neighbours<T>(rows.source + items.begin * step + offset, step,
                            static_cast<int>(items.end - items.begin), reduction, sum);
    return items.end - items.begin;
  }
  if (kAny || group.lanes() < kMany) {
    if (!active) return 0;
    for (std::int64_t first = items.begin; first < items.end; first += kFew) {
      const std::byte* row[kFew];
      rows.find<kAny>(first, static_cast<int>(min(items.end - first, std::int64_t{kFew})), row);
      combine_rows<T, kAny>(rows, first, row, offset, aligned, reduction, sum);
#pragma unroll
      for (int k = 0; k < kFew; ++k) combined += row[k] != nullptr;
    }
    return combined;
  }
  const unsigned mask = group.mask();
  for (std::int64_t chunk = items.begin; chunk < items.end; chunk += group.lanes()) {
    const std::byte* own[1];
    const bool has_own = group.lane() < items.end - chunk;
    rows.find<kAny>(chunk + group.lane(), has_own ? 1 : 0, own);
    const std::int64_t end = min(chunk + group.lanes(), items.end);
    for (std::int64_t first = chunk; first < end; first += kMany) {
      const std::byte* row[kMany];
#pragma unroll
      for (int k = 0; k < kMany; ++k) {
        const auto address = reinterpret_cast<unsigned long long>(own[0]);
        const auto from = static_cast<int>(first - chunk) + k;
        row[k] =
            reinterpret_cast<const std::byte*>(__shfl_sync(mask, address, from, group.lanes()));
        combined += row[k] != nullptr;
        if (!active) row[k] = nullptr;
      }
      combine_rows<T, kAny>(rows, first, row, offset, aligned, reduction, sum);
    }
  }
  return combined;
}

/// How groups of threads share the columns of rows: each has a span of them, so that few bags of
/// long rows occupy the GPU, too.
struct RowShares {
  ThreadGroups threads;  ///< a group accesses neighbouring columns at a time
  std::int64_t span;     ///< columns of a group
  std::int64_t groups;   ///< that share a row

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

/// Combines items for the columns of a share, from an offset on, and calls store(column, number of
/// items, sums). All threads of the group call it.
template <class T, bool kIndexed, int kCount, bool kAny, class Store>
__device__ void combine_share(const ItemRows& rows, const ItemRange& items, std::int64_t offset,
                              const RowColumns<kCount, kAny>& columns,
                              const RowShares::Columns& share, const ThreadGroups& group,
                              const Reduction& reduction, const Store& store) {
  const std::int64_t before = std::int64_t{group.lane()} * kCount;
  for (std::int64_t column = share.begin; column - before < share.end;
       column += std::int64_t{group.lanes()} * kCount) {
    const bool active = column < share.end;
    Accumulator<T> sum[kCount];
#pragma unroll
    for (int c = 0; c < kCount; ++c) sum[c] = identity<Accumulator<T>>(reduction);
    const std::int64_t number = combine_items<T, kIndexed, kAny>(
        rows, items, group, active, offset + columns.at(column).from, columns.is_aligned(),
        reduction, sum);
    if (active) store(column, number, sum);
  }
}

}  // namespace gpukern::gpu

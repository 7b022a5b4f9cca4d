// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The columns of an update, and how threads share them.
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/common/thread_groups.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

static_assert(kTargetColumn == 0 && kValueColumn == 1, "the operands of RowColumns");

/// Whether the columns are vectors of kCount elements, contiguous and aligned to such.
template <class T, int kCount>
bool has_column_vectors(const ScatterArgs& args, std::int64_t columns) {
  return are_vectors<T, kCount>(args.columns, columns) &&
         is_aligned(args, alignof(Vector<T, kCount>), false);
}

/// Columns that a thread accesses together: those of a vector or, with kAny, kCount columns in any
/// layout, `between` apart, of which some may be past the end.
template <int kCount, bool kAny>
struct ThreadColumns {
  std::int64_t first;
  std::int64_t between;
  std::int64_t end;
  ColumnOffsets at[kAny ? kCount : 1];
  bool aligned;

  [[nodiscard]] __device__ std::int64_t column(int c) const { return first + c * between; }
  [[nodiscard]] __device__ bool exists(int c) const { return !kAny || column(c) < end; }

  template <class W>
  __device__ void load_words(const std::byte* value, W (&word)[kCount]) const {
    static_assert(kAny);
#pragma unroll
    for (int c = 0; c < kCount; ++c) word[c] = *reinterpret_cast<const W*>(value + at[c].from);
  }
  template <class W>
  __device__ void store_words(std::byte* row, const W (&word)[kCount]) const {
    static_assert(kAny);
#pragma unroll
    for (int c = 0; c < kCount; ++c)
      if (exists(c)) *reinterpret_cast<W*>(row + at[c].to) = word[c];
  }
  template <class T>
  __device__ void load_values(const std::byte* value, bool are_aligned,
                              Accumulator<T> (&to)[kCount]) const {
    load<T>(value, &ColumnOffsets::from, are_aligned, to);
  }
  /// Those past the end are read, too, which their owner may write meanwhile, and are not used.
  template <class T>
  __device__ void load_target(const std::byte* row, Accumulator<T> (&to)[kCount]) const {
    load<T>(row, &ColumnOffsets::to, aligned, to);
  }
  /// Writes the results of `count` values.
  template <class T>
  __device__ void store(std::byte* row, gpukern_reduce reduce, std::int64_t count,
                        const Accumulator<T> (&sum)[kCount]) const {
    if constexpr (kAny) {
#pragma unroll
      for (int c = 0; c < kCount; ++c)
        if (exists(c)) store_element(row + at[c].to, finished<T>(reduce, sum[c], count), aligned);
    } else {
      store_columns<T>(row + at[0].to, true, reduce, count, sum);
    }
  }

 private:
  template <class T>
  __device__ void load(const std::byte* row, std::int64_t ColumnOffsets::* offset, bool are_aligned,
                       Accumulator<T> (&to)[kCount]) const {
    if constexpr (kAny) {
      if (!are_aligned) {
#pragma unroll
        for (int c = 0; c < kCount; ++c) to[c] = widened(load_misaligned<T>(row + at[c].*offset));
        return;
      }
#pragma unroll
      for (int c = 0; c < kCount; ++c)
        to[c] = widened(*reinterpret_cast<const T*>(row + at[c].*offset));
    } else {
      load_columns<T>(row + at[0].*offset, true, to);
    }
  }
};

/// The columns of updates: operands of RowColumns.
template <int kCount, bool kAny>
struct UpdateColumns : RowColumns<kCount, kAny> {
  /// Columns for each thread block of the second dimension of the grid, if there are several.
  std::int64_t part = std::numeric_limits<std::int64_t>::max();

  /// Those of a thread block end before end().
  [[nodiscard]] __device__ std::int64_t begin() const { return blockIdx.y * part; }
  [[nodiscard]] __device__ std::int64_t end() const {
    return blockIdx.y + 1 == gridDim.y ? this->count : begin() + part;
  }

  /// Calls visit(ThreadColumns) until the threads of a group have visited all of a block's columns.
  template <class Visit>
  __device__ void visit(const ThreadGroups& threads, const Visit& visit) const {
    const std::int64_t lanes = threads.lanes();
    for (std::int64_t first = begin() + threads.lane() * (kAny ? 1 : kCount); first < end();
         first += lanes * kCount) {
      ThreadColumns<kCount, kAny> columns{first, kAny ? lanes : 1, end(), {}, this->is_aligned()};
      this->find(first, lanes, columns.at);
      visit(columns);
    }
  }
  [[nodiscard]] __device__ ThreadColumns<1, true> only(std::int64_t column) const {
    return {column, 1, column + 1, {this->at(column)}, this->is_aligned()};
  }
};

template <int kCount, bool kAny>
UpdateColumns<kCount, kAny> update_columns(const Loop<2>& columns, bool aligned) {
  return {{LoopOffsets(columns), columns.count(), aligned}};
}

/// Divides the columns of each update among up to `parts` thread blocks, each with a multiple of
/// `together` columns. Returns the grid.
template <int kCount, bool kAny>
Grid divide_columns(UpdateColumns<kCount, kAny>& columns, std::int64_t parts, std::int64_t together,
                    Grid grid) {
  if (parts == 1) return grid;
  columns.part = ceil_divide(ceil_divide(columns.count, parts), together) * together;
  grid.parts = static_cast<int>(ceil_divide(columns.count, columns.part));
  return grid;
}

/// The same for a kernel whose groups of threads visit them: enough parts to fill the GPU.
template <int kCount, bool kAny>
Grid divide_columns(UpdateColumns<kCount, kAny>& columns, const ThreadGroups& threads, Grid grid) {
  constexpr std::int64_t kLeastAccesses = 2;  // of a thread
  constexpr std::int64_t kMostParts = 65535;
  const std::int64_t together = std::int64_t{threads.lanes()} * kCount;
  const std::int64_t wanted = resident_grid() * kThreads / (grid.blocks * grid.threads);
  const std::int64_t parts = std::clamp<std::int64_t>(
      std::min(wanted, columns.count / (together * kLeastAccesses)), 1, kMostParts);
  return divide_columns(columns, parts, together, grid);
}

}  // namespace gpukern::gpu

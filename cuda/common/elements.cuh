// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Elements of strided arrays, aligned or not, and rows of several columns, which a thread loads
// together where they are contiguous. Rare cases are not inlined: they would make up most of the
// code.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "src/core/reduce.hpp"

namespace gpukern::gpu {

__device__ __noinline__ inline std::int64_t unravelled(const Loop<1>& loop,
                                                       std::uint64_t position) {
  std::int64_t offset[1];
  unravel(loop, position, offset);
  return offset[0];
}

/// The byte offset of a position.
__device__ inline std::int64_t offset_at(const Loop<1>& loop, std::uint64_t position) {
  if (loop.ndim > 1) return unravelled(loop, position);
  return loop.ndim == 0 ? 0 : static_cast<std::int64_t>(position) * loop.stride[0][0];
}

template <class T>
__device__ __noinline__ T load_misaligned(const std::byte* from) {
  return load_unaligned<T>(from);
}
template <class T>
__device__ __noinline__ void store_misaligned(std::byte* to, T value) {
  store_unaligned(to, value);
}

template <class T>
__device__ T load_element(const std::byte* from, bool aligned) {
  return aligned ? *reinterpret_cast<const T*>(from) : load_misaligned<T>(from);
}
template <class T>
__device__ void store_element(std::byte* to, const T& value, bool aligned) {
  if (aligned)
    *reinterpret_cast<T*>(to) = value;
  else
    store_misaligned(to, value);
}

__device__ __noinline__ inline std::int64_t unravelled_column(const Loop<2>& loop,
                                                              std::uint64_t column, int operand) {
  std::int64_t offset[2];
  unravel(loop, column, offset);
  return offset[operand];
}

/// Columns of which each access takes kCount: with kAny in any layout, else aligned and in one
/// dimension. Operand 0 of the loop is what is written, operand 1 what is read.
template <int kCount, bool kAny = kCount == 1>
struct RowColumns {
  Loop<2> loop;
  std::int64_t count;
  bool aligned;
  /// Columns for each thread block of the second dimension of the grid, if there are several.
  std::int64_t part = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] __device__ bool is_aligned() const { return !kAny || aligned; }

  /// Those of a thread block end before end().
  [[nodiscard]] __device__ std::int64_t begin() const { return blockIdx.y * part; }
  [[nodiscard]] __device__ std::int64_t end() const {
    return blockIdx.y + 1 == gridDim.y ? count : begin() + part;
  }

  [[nodiscard]] __device__ std::int64_t target_offset(std::int64_t column) const {
    return offset<0>(column);
  }
  [[nodiscard]] __device__ std::int64_t value_offset(std::int64_t column) const {
    return offset<1>(column);
  }

 private:
  template <int kOperand>
  [[nodiscard]] __device__ std::int64_t offset(std::int64_t column) const {
    if constexpr (kAny)
      if (loop.ndim > 1)
        return unravelled_column(loop, static_cast<std::uint64_t>(column), kOperand);
    return loop.ndim == 0 ? 0 : column * loop.stride[kOperand][0];
  }
};

/// Elements of type T that a thread accesses together.
template <class T>
inline constexpr int kVectorColumns = sizeof(T) < 4 ? 4 : kPerWord<T>;

/// Whether the columns can be accessed as vectors of kCount elements, if their rows are aligned.
template <class T, int kCount>
bool are_vectors(const Loop<2>& columns, std::int64_t count) {
  constexpr std::int64_t kItem = sizeof(T);
  return kCount > 1 && columns.ndim == 1 && count % kCount == 0 && columns.stride[0][0] == kItem &&
         columns.stride[1][0] == kItem;
}

template <class T, int kCount>
__device__ void load_columns(const std::byte* from, bool aligned, Accumulator<T> (&to)[kCount]) {
  if constexpr (kCount == 1) {
    to[0] = widened(load_element<T>(from, aligned));
  } else {
    const auto vector = *reinterpret_cast<const Vector<T, kCount>*>(from);
#pragma unroll
    for (int c = 0; c < kCount; ++c) to[c] = widened(vector.element[c]);
  }
}

template <class T, int kCount>
__device__ void store_columns(std::byte* to, bool aligned, gpukern_reduce reduce,
                              std::int64_t count, const Accumulator<T> (&sum)[kCount]) {
  if constexpr (kCount == 1) {
    store_element(to, finished<T>(reduce, sum[0], count), aligned);
  } else {
    Vector<T, kCount> vector;
#pragma unroll
    for (int c = 0; c < kCount; ++c) vector.element[c] = finished<T>(reduce, sum[c], count);
    *reinterpret_cast<Vector<T, kCount>*>(to) = vector;
  }
}

}  // namespace gpukern::gpu

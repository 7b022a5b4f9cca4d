// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Elements of strided arrays, aligned or not, and rows of several columns, which a thread loads
// together where they are contiguous. Rare cases are not inlined: they would make up most of the
// code.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "src/core/reduce.hpp"

namespace gpukern::gpu {

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

/// The byte offsets of a column in what is written and in what is read.
struct ColumnOffsets {
  std::int64_t to;
  std::int64_t from;
};

/// Columns of which each access takes kCount: with kAny in any layout, else aligned and in one
/// dimension. Operand 0 of the loop is what is written, operand 1 what is read.
template <int kCount, bool kAny = kCount == 1>
struct RowColumns {
  LoopOffsets<2> offsets;
  std::int64_t count;
  bool aligned;

  [[nodiscard]] __device__ bool is_aligned() const { return !kAny || aligned; }

  [[nodiscard]] __device__ ColumnOffsets at(std::int64_t column) const {
    if constexpr (!kAny) return {column * offsets.step(0), column * offsets.step(1)};
    const OffsetsAt<2> at = offsets.at(column);
    return {at.offset[0], at.offset[1]};
  }
  /// Of columns `between` apart, together; with kAny, those past the end have the offsets of the
  /// last one.
  template <int kTogether>
  __device__ void find(std::int64_t first, std::int64_t between,
                       ColumnOffsets (&found)[kTogether]) const {
    if constexpr (kAny) {
      OffsetsAt<2> at[kTogether];
      offsets.find(Positions<kTogether>(first, between, count - 1).of, at);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) found[k] = {at[k].offset[0], at[k].offset[1]};
    } else {
#pragma unroll
      for (int k = 0; k < kTogether; ++k) found[k] = at(first + k * between);
    }
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

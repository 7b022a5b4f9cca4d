// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The columns of an update, several of which a thread loads together where they are contiguous.
#pragma once

#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

__device__ __noinline__ inline std::int64_t unravelled_column(const Loop<2>& loop,
                                                              std::uint64_t column, int operand) {
  std::int64_t offset[2];
  unravel(loop, column, offset);
  return offset[operand];
}

template <int kCount>
struct RowColumns {
  Loop<2> loop;
  std::int64_t count;
  bool aligned;

  [[nodiscard]] __device__ std::int64_t target_offset(std::int64_t column) const {
    return offset<kTargetColumn>(column);
  }
  [[nodiscard]] __device__ std::int64_t value_offset(std::int64_t column) const {
    return offset<kValueColumn>(column);
  }

 private:
  template <int kOperand>
  [[nodiscard]] __device__ std::int64_t offset(std::int64_t column) const {
    if (kCount > 1 || loop.ndim <= 1) return loop.ndim == 0 ? 0 : column * loop.stride[kOperand][0];
    return unravelled_column(loop, static_cast<std::uint64_t>(column), kOperand);
  }
};

/// Whether the columns are vectors of kCount elements, contiguous and aligned to such.
template <class T, int kCount>
bool has_column_vectors(const ScatterArgs& args, std::int64_t columns) {
  const Loop<2>& loop = args.columns;
  constexpr std::int64_t kItem = sizeof(T);
  return kCount > 1 && loop.ndim == 1 && columns % kCount == 0 &&
         loop.stride[kTargetColumn][0] == kItem && loop.stride[kValueColumn][0] == kItem &&
         is_aligned(args, alignof(Vector<T, kCount>), false);
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

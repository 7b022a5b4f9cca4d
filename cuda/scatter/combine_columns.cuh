// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The combination of a block of values by a thread.
#pragma once

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/rows.cuh"

namespace gpukern::gpu {

/// Combines up to kInFlight values, all loaded before the first use.
template <class T, int kInFlight, int kCount, class Load, class Reducer>
__device__ void combine_batch(int count, const Reducer& reduction, const Load& load,
                              Accumulator<T> (&sum)[kCount]) {
  Accumulator<T> next[kInFlight][kCount];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (k < count) load(k, next[k]);
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (k < count)
#pragma unroll
      for (int c = 0; c < kCount; ++c) sum[c] = combine(reduction, sum[c], next[k][c]);
}

/// Combines the values of one block, for kCount neighbouring columns, after those of the element
/// unless `own` is nullptr.
template <class T, int kInFlight, int kCount, class Number, class Reducer>
__device__ void combine_columns(const RowColumns<kCount>& columns, std::int64_t column,
                                const std::byte* own, const UpdateValues& values,
                                const Number* update, int count, const Reducer& reduction,
                                Accumulator<T> (&sum)[kCount]) {
  using A = Accumulator<T>;
  const std::int64_t from = columns.value_offset(column);
  int done = 0;
  if (own != nullptr)
    load_columns<T>(own + columns.target_offset(column), columns.aligned, sum);
  else
    load_columns<T>(values.at(update[done++]) + from, columns.aligned, sum);
  const auto load = [&](int k, A(&to)[kCount]) {
    load_columns<T>(values.at(update[done + k]) + from, columns.aligned, to);
  };
  for (; done < count; done += kInFlight)
    combine_batch<T, kInFlight>(count - done, reduction, load, sum);
}

}  // namespace gpukern::gpu

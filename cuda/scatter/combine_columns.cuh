// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The combination of a block of values by a thread.
#pragma once

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/rows.cuh"

namespace gpukern::gpu {

/// Combines the values of one block, for kCount neighbouring columns, after those of the element
/// unless `own` is nullptr. update[i] is the number of its update i. Of aligned values in a regular
/// layout, a thread loads the element and kInFlight values before it uses one; the others are
/// loaded one by one.
template <class T, int kInFlight, int kCount, class Updates, class Reducer>
__device__ void combine_columns(const RowColumns<kCount>& columns, std::int64_t column,
                                const std::byte* own, const UpdateValues& values,
                                const Updates& update, int count, const Reducer& reduction,
                                Accumulator<T> (&sum)[kCount]) {
  using A = Accumulator<T>;
  const std::int64_t from = columns.value_offset(column);
  const std::byte* const first =
      own != nullptr ? own + columns.target_offset(column) : values.at(update[0]) + from;
  int done = own != nullptr ? 0 : 1;
  if (columns.is_aligned() && values.updates.ndim <= 1) {
    const std::int64_t step = values.updates.ndim == 0 ? 0 : values.updates.stride[0][0];
    load_columns<T>(first, true, sum);
    A next[kInFlight][kCount];
    const auto load = [&](int k) {
      load_columns<T>(values.values + static_cast<std::int64_t>(update[done + k]) * step + from,
                      true, next[k]);
    };
    // Without conditions, the compiler moves the loads ahead of the additions.
    for (; done + kInFlight <= count; done += kInFlight) {
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) load(k);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) combine_each(reduction, sum, next[k]);
    }
#pragma unroll
    for (int k = 0; k < kInFlight - 1; ++k)
      if (done + k < count) load(k);
#pragma unroll
    for (int k = 0; k < kInFlight - 1; ++k)
      if (done + k < count) combine_each(reduction, sum, next[k]);
    return;
  }
  load_columns<T>(first, columns.is_aligned(), sum);
#pragma unroll 1
  for (; done < count; ++done) {
    A next[kCount];
    load_columns<T>(values.at(update[done]) + from, columns.is_aligned(), next);
    combine_each(reduction, sum, next);
  }
}

}  // namespace gpukern::gpu

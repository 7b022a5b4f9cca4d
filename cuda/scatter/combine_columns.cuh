// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The combination of a block of values by a thread.
#pragma once

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/rows.cuh"

namespace gpukern::gpu {

/// Combines the values of one block, for a thread's columns, after those of the element at `own`
/// unless that is nullptr. update[i] is the number of its update i. Of aligned values in a regular
/// layout, a thread loads the element and kInFlight values before it uses one; the others are
/// loaded one by one.
template <class T, int kInFlight, int kCount, bool kAny, class Updates, class Reducer>
__device__ void combine_columns(const ThreadColumns<kCount, kAny>& columns, const std::byte* own,
                                const UpdateValues& values, const Updates& update, int count,
                                const Reducer& reduction, Accumulator<T> (&sum)[kCount]) {
  using A = Accumulator<T>;
  int done = own != nullptr ? 0 : 1;
  if (own != nullptr)
    columns.template load_target<T>(own, sum);
  else
    columns.template load_values<T>(values.at(update[0]), columns.aligned, sum);
  if (columns.aligned && values.updates.is_regular()) {
    const std::int64_t step = values.updates.step(0);
    A next[kInFlight][kCount];
    const auto load = [&](int k) {
      columns.template load_values<T>(
          values.values + static_cast<std::int64_t>(update[done + k]) * step, true, next[k]);
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
#pragma unroll 1
  for (; done < count; ++done) {
    A next[kCount];
    columns.template load_values<T>(values.at(update[done]), columns.aligned, next);
    combine_each(reduction, sum, next);
  }
}

}  // namespace gpukern::gpu

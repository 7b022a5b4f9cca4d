// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

/// Threads of a group copy the words of one update.
template <class W, class Key>
__global__ void __launch_bounds__(kThreads)
    put_rows_kernel(const SortedKeys<Key> sorted, const Key* updates,
                    const __grid_constant__ UpdateValues values,
                    const __grid_constant__ TargetElements elements,
                    const __grid_constant__ RowColumns<1> words, int lanes) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t at = thread / lanes;
  if (at >= sorted.end) return;
  const Key key = sorted.key[at];
  if (key == sorted.none || (at + 1 < sorted.end && sorted.key[at + 1] == key)) return;
  copy_words<W>(values.at(updates[at]), elements.at(key), words, thread % lanes, lanes);
}

template <class Key>
void launch_put(const ScatterCall& call, const void* keys, const void* updates) {
  const ScatterArgs& args = call.args;
  const ScatterWords words = scatter_words(args);
  RowColumns<1> columns{words.columns, words.columns.count(), true};
  const int lanes = lanes_of(columns.count);
  const Grid grid = divide_columns(columns, lanes, {ceil_divide(call.count * lanes, kThreads)});
  visit_word(words.bytes, [&](auto word) {
    launch(put_rows_kernel<decltype(word), Key>, grid, call.stream,
           sorted_keys(call, static_cast<const Key*>(keys)), static_cast<const Key*>(updates),
           update_values(args), target_elements(args), columns, lanes);
  });
}

}  // namespace

void scatter_put_rows(const ScatterCall& call, const SortPlan& plan, const void* keys,
                      const void* updates) {
  if (plan.wide_keys)
    launch_put<std::uint64_t>(call, keys, updates);
  else
    launch_put<std::uint32_t>(call, keys, updates);
}

}  // namespace gpukern::gpu

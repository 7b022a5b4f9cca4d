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
                    const __grid_constant__ UpdateColumns<kWordsInFlight, true> words,
                    ThreadGroups threads) {
  const std::int64_t at = threads.in_grid();
  if (at >= sorted.end) return;
  const Key key = sorted.key[at];
  if (key == sorted.none || (at + 1 < sorted.end && sorted.key[at + 1] == key)) return;
  copy_words<W>(values.at(updates[at]), elements.at(key), words, threads);
}

template <class Key>
void launch_put(const ScatterCall& call, const void* keys, const void* updates) {
  const ScatterArgs& args = call.args;
  const ScatterWords words = scatter_words(args);
  auto columns = update_columns<kWordsInFlight, true>(words.columns, true);
  const ThreadGroups threads = groups_of(ceil_divide(columns.count, kWordsInFlight));
  const Grid grid = divide_columns(columns, threads, {threads.blocks(call.count)});
  visit_word(words.bytes, [&](auto word) {
    launch(put_rows_kernel<decltype(word), Key>, grid, call.stream,
           sorted_keys(call, static_cast<const Key*>(keys)), static_cast<const Key*>(updates),
           update_values(args), target_elements(args), columns, threads);
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

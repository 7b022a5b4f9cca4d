// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <type_traits>

#include "cuda/common/reduction.cuh"
#include "cuda/scatter/atomic.cuh"
#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

/// Updates that a group of threads has in flight if its threads have one column each: more columns
/// would write to the same sectors more than once. Those of longer rows have several.
constexpr int kUpdatesInFlight = 4;
constexpr std::int64_t kNarrow = 3;  // columns or words

/// Updates and the groups of threads that work on them.
struct DirectUpdates {
  KeyOf key_of;
  UpdateValues values;
  TargetElements elements;
  std::int64_t count;
  ThreadGroups threads;
};

/// Keys, each with the value of its last update, and the groups of threads that work on them.
struct LastOfKeys {
  const std::uint32_t* last;  ///< see scatter_find_last()
  UpdateValues values;
  TargetElements elements;
  std::int64_t count;
  ThreadGroups threads;
};

/// kUpdates updates of a group of threads, or the last ones of as many keys.
template <int kUpdates>
struct GroupUpdates {
  const std::byte* value[kUpdates];
  std::byte* row[kUpdates];
  bool is_written[kUpdates];

  __device__ GroupUpdates(const DirectUpdates& of, const LastUpdates& last) {
    const std::int64_t first = of.threads.in_grid();
    const std::int64_t groups = std::int64_t{gridDim.x} * (kThreads >> of.threads.bits);
    std::int64_t key[kUpdates];
    of.key_of.find(first, groups, of.count, key);
    OffsetsAt<1> at[kUpdates];
    of.values.updates.find(Positions<kUpdates>(first, groups, of.count - 1).of, at);
#pragma unroll
    for (int u = 0; u < kUpdates; ++u) {
      is_written[u] = key[u] >= 0 && last.is_last(first + u * groups, key[u]);
      value[u] = of.values.values + at[u].offset[0];
      row[u] = of.elements.at(key[u]);
    }
  }

  explicit __device__ GroupUpdates(const LastOfKeys& of) {
    const std::int64_t first = of.threads.in_grid();
    const std::int64_t groups = std::int64_t{gridDim.x} * (kThreads >> of.threads.bits);
    const Positions<kUpdates> key(first, groups, of.count - 1);
    std::int64_t update[kUpdates];
#pragma unroll
    for (int u = 0; u < kUpdates; ++u) {
      const std::uint32_t last = __ldcg(of.last + key.of[u]);
      is_written[u] = last != 0 && first + u * groups < of.count;
      update[u] = last != 0 ? last - 1 : 0;
    }
    OffsetsAt<1> at[kUpdates];
    of.values.updates.find(update, at);
#pragma unroll
    for (int u = 0; u < kUpdates; ++u) {
      value[u] = of.values.values + at[u].offset[0];
      row[u] = of.elements.at(key.of[u]);
    }
  }
};

template <class W, int kUpdates, int kCount>
__device__ void put_rows(const GroupUpdates<kUpdates>& updates,
                         const UpdateColumns<kCount, true>& words, const ThreadGroups& threads) {
  if (kUpdates == 1 && !updates.is_written[0]) return;
  words.visit(threads, [&](const ThreadColumns<kCount, true>& own) {
    // Stores might change what later loads read, so the compiler would not overlap these.
    W word[kUpdates][kCount];
#pragma unroll
    for (int u = 0; u < kUpdates; ++u)
      if (updates.is_written[u]) own.load_words(updates.value[u], word[u]);
#pragma unroll
    for (int u = 0; u < kUpdates; ++u)
      if (updates.is_written[u]) own.store_words(updates.row[u], word[u]);
  });
}

template <class W, int kUpdates, int kCount>
__global__ void __launch_bounds__(kThreads)
    put_direct_kernel(const __grid_constant__ DirectUpdates of,
                      const __grid_constant__ UpdateColumns<kCount, true> words,
                      const __grid_constant__ LastUpdates last) {
  wait_for_previous();
  put_rows<W>(GroupUpdates<kUpdates>(of, last), words, of.threads);
}

template <class W, int kUpdates, int kCount>
__global__ void __launch_bounds__(kThreads)
    put_last_kernel(const __grid_constant__ LastOfKeys of,
                    const __grid_constant__ UpdateColumns<kCount, true> words) {
  wait_for_previous();
  put_rows<W>(GroupUpdates<kUpdates>(of), words, of.threads);
}

template <class T, int kUpdates, int kCount, bool kAny>
__global__ void __launch_bounds__(kThreads)
    combine_direct_kernel(const __grid_constant__ DirectUpdates of,
                          const __grid_constant__ UpdateColumns<kCount, kAny> columns,
                          const __grid_constant__ Reduction reduction) {
  const GroupUpdates<kUpdates> updates(of, {});
  if (kUpdates == 1 && !updates.is_written[0]) return;
  columns.visit(of.threads, [&](const ThreadColumns<kCount, kAny>& own) {
    Accumulator<T> sum[kUpdates][kCount];
    Accumulator<T> number[kUpdates][kCount];
#pragma unroll
    for (int u = 0; u < kUpdates; ++u) {
      if (!updates.is_written[u]) continue;
      own.template load_values<T>(updates.value[u], own.aligned, number[u]);
      own.template load_target<T>(updates.row[u], sum[u]);
    }
#pragma unroll
    for (int u = 0; u < kUpdates; ++u) {
      if (!updates.is_written[u]) continue;
      combine_each(reduction, sum[u], number[u]);
      own.template store<T>(updates.row[u], reduction.reduce, 2, sum[u]);
    }
  });
}

template <class T, int kUpdates, int kCount>
__global__ void __launch_bounds__(kThreads)
    combine_atomic_kernel(const __grid_constant__ DirectUpdates of,
                          const __grid_constant__ UpdateColumns<kCount, true> columns,
                          const __grid_constant__ Reduction reduction) {
  using A = AtomicType<T>;
  const GroupUpdates<kUpdates> updates(of, {});
  if (kUpdates == 1 && !updates.is_written[0]) return;
  columns.visit(of.threads, [&](const ThreadColumns<kCount, true>& own) {
    A number[kUpdates][kCount];
#pragma unroll
    for (int u = 0; u < kUpdates; ++u)
      if (updates.is_written[u]) own.load_words(updates.value[u], number[u]);
#pragma unroll
    for (int u = 0; u < kUpdates; ++u)
#pragma unroll
      for (int c = 0; c < kCount; ++c)
        if (updates.is_written[u] && own.exists(c))
          combine_atomically(reduction, reinterpret_cast<A*>(updates.row[u] + own.at[c].to),
                             number[u][c]);
  });
}

/// Launches a kernel whose groups of threads have kUpdates updates or keys each.
template <int kUpdates, class Source, int kCount, bool kAny, class Kernel, class... Arguments>
void launch_groups(const Kernel& kernel, cudaStream_t stream, Source of,
                   UpdateColumns<kCount, kAny> columns, bool programmatic,
                   const Arguments&... arguments) {
  // Of few updates, a whole block works on each.
  of.threads =
      groups_of(ceil_divide(columns.count, kCount), 1, of.count <= kScatterFewRows ? kThreads : 32);
  const std::int64_t resident = resident_grid() * kThreads / of.threads.lanes();
  const std::int64_t groups =
      std::max(ceil_divide(of.count, kUpdates), std::min(of.count, resident));
  const Grid grid =
      divide_columns(columns, of.threads,
                     {.blocks = of.threads.blocks(groups), .programmatic_launch = programmatic});
  launch(kernel, grid, stream, of, columns, arguments...);
}

template <int kUpdates, int kCount, bool kAny, class Kernel, class... Arguments>
void launch_direct(const ScatterCall& call, const Kernel& kernel,
                   const UpdateColumns<kCount, kAny>& columns, bool programmatic,
                   const Arguments&... arguments) {
  const DirectUpdates updates{
      key_of(call.args), update_values(call.args), target_elements(call.args), call.count, {}};
  launch_groups<kUpdates>(kernel, call.stream, updates, columns, programmatic, arguments...);
}

}  // namespace

void scatter_put_direct(const ScatterCall& call, const LastUpdates& last) {
  const ScatterWords words = scatter_words(call.args);
  visit_word(words.bytes, [&]<class W>(W) {
    if (words.columns.count() <= kNarrow)
      launch_direct<kUpdatesInFlight>(call, put_direct_kernel<W, kUpdatesInFlight, 1>,
                                      update_columns<1, true>(words.columns, true), true, last);
    else
      launch_direct<1>(call, put_direct_kernel<W, 1, kWordsInFlight>,
                       update_columns<kWordsInFlight, true>(words.columns, true), true, last);
  });
}

void scatter_put_last(const ScatterCall& call, const std::uint32_t* last) {
  const ScatterWords words = scatter_words(call.args);
  const std::int64_t keys = call.args.keys.count();
  const bool is_narrow = words.columns.count() <= kNarrow;
  // Groups of threads would look for updates of most keys in vain.
  if (!is_narrow && keys > call.count) return scatter_put_direct(call, {.table = last});
  const LastOfKeys of{last, update_values(call.args), target_elements(call.args), keys, {}};
  visit_word(words.bytes, [&]<class W>(W) {
    if (is_narrow)
      launch_groups<kUpdatesInFlight>(put_last_kernel<W, kUpdatesInFlight, 1>, call.stream, of,
                                      update_columns<1, true>(words.columns, true), true);
    else
      launch_groups<1>(put_last_kernel<W, 1, kWordsInFlight>, call.stream, of,
                       update_columns<kWordsInFlight, true>(words.columns, true), true);
  });
}

void scatter_direct(const ScatterCall& call, bool atomic) {
  const ScatterArgs& args = call.args;
  if (args.reduce == GPUKERN_REDUCE_NONE) return scatter_put_direct(call, {});
  const Reduction reduction = reduction_of(args.reduce, args.dtype);
  const bool is_narrow = call.columns <= kNarrow;
  visit_combined_type(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kCount = kVectorColumns<T>;
    const bool aligned = is_aligned(args, alignof(T));
    const auto single = update_columns<1, true>(args.columns, aligned);
    const auto several = update_columns<kCount, true>(args.columns, aligned);
    if constexpr (!std::is_void_v<AtomicType<T>>) {
      if (atomic && is_narrow)
        return launch_direct<kUpdatesInFlight>(call, combine_atomic_kernel<T, kUpdatesInFlight, 1>,
                                               single, false, reduction);
      if (atomic)
        return launch_direct<1>(call, combine_atomic_kernel<T, 1, kCount>, several, false,
                                reduction);
    }
    if (is_narrow || kCount == 1)
      return launch_direct<kUpdatesInFlight>(
          call, combine_direct_kernel<T, kUpdatesInFlight, 1, true>, single, false, reduction);
    if constexpr (kCount > 1) {
      if (has_column_vectors<T, kCount>(args, call.columns))
        launch_direct<1>(call, combine_direct_kernel<T, 1, kCount, false>,
                         update_columns<kCount, false>(args.columns, true), false, reduction);
      else
        launch_direct<1>(call, combine_direct_kernel<T, 1, kCount, true>, several, false,
                         reduction);
    }
  });
}

}  // namespace gpukern::gpu

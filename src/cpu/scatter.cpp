// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "src/cpu/kernels.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/scatter_blocked.hpp"
#include "src/cpu/scatter_updates.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// Applies updates in order.
using Apply = void (*)(const ScatterArgs& args, const Updates& updates);

void put(const ScatterArgs& args, const Updates& updates) {
  visit_width(args.item, [&](auto width) {
    for (std::int64_t u = 0; u < updates.count; ++u) {
      std::byte* const target = args.target + offset_of(args.keys, updates.first[u].key);
      const std::byte* const value = args.values + updates.first[u].value;
      for_each_column(args.columns, [&](std::int64_t to, std::int64_t from) {
        std::memcpy(target + to, value + from, width);
      });
    }
  });
}

/// Combines each value with the element at once: exact if no element gets values for a second
/// block, and for 16-bit types and means if none gets a second value.
template <class T, gpukern_reduce reduce>
void combine_in_place(const ScatterArgs& args, const Updates& updates) {
  for (std::int64_t u = 0; u < updates.count; ++u) {
    std::byte* const target = args.target + offset_of(args.keys, updates.first[u].key);
    const std::byte* const value = args.values + updates.first[u].value;
    for_each_column(args.columns, [&](std::int64_t to, std::int64_t from) {
      const auto sum =
          combine(reduce, widened(load_as<T>(target + to)), widened(load_as<T>(value + from)));
      store_as<T>(target + to, finished<T>(reduce, sum, 2));
    });
  }
}

template <class T, gpukern_reduce reduce>
void combine_in_blocks(const ScatterArgs& args, const Updates& updates) {
  BlockedReduction<T, reduce> reduction(args, updates);
  for (std::int64_t u = 0; u < updates.count; ++u) reduction.add(updates.first[u]);
  reduction.finish();
}

/// Whether some element may get values for a second block. Counts the values of groups of elements.
bool may_fill_a_block(const Updates& updates) {
  if (updates.count < kBlockValues) return false;
  std::array<std::uint16_t, 4096> values{};
  if (updates.count >= std::int64_t{kBlockValues} * std::int64_t{values.size()}) return true;
  bool full = false;
  for (std::int64_t u = 0; u < updates.count && !full; ++u) {
    const auto group = static_cast<std::size_t>(updates.first[u].key) % values.size();
    full = ++values[group] >= kBlockValues;
  }
  return full;
}

template <class T, gpukern_reduce reduce>
void combine_in_order(const ScatterArgs& args, const Updates& updates) {
  const bool one_step = std::is_same_v<T, Accumulator<T>> && reduce != GPUKERN_REDUCE_MEAN;
  if (args.unique || (one_step && (!depends_on_order<T>(reduce) || !may_fill_a_block(updates))))
    combine_in_place<T, reduce>(args, updates);
  else
    combine_in_blocks<T, reduce>(args, updates);
}

template <class T>
Apply apply_for(gpukern_reduce reduce) {
  if (reduce == GPUKERN_REDUCE_ADD) return combine_in_order<T, GPUKERN_REDUCE_ADD>;
  if constexpr (!std::is_integral_v<T>)
    if (reduce == GPUKERN_REDUCE_MEAN) return combine_in_order<T, GPUKERN_REDUCE_MEAN>;
  if constexpr (!kIsComplex<T>) {
    if (reduce == GPUKERN_REDUCE_MULTIPLY) return combine_in_order<T, GPUKERN_REDUCE_MULTIPLY>;
    if (reduce == GPUKERN_REDUCE_MIN) return combine_in_order<T, GPUKERN_REDUCE_MIN>;
    if (reduce == GPUKERN_REDUCE_MAX) return combine_in_order<T, GPUKERN_REDUCE_MAX>;
  }
  return nullptr;
}

Apply apply_for(const ScatterArgs& args) {
  if (args.reduce == GPUKERN_REDUCE_NONE) return put;
  Apply apply = nullptr;
  visit_reduced_dtype(
      args.dtype, [&](auto tag) { apply = apply_for<typename decltype(tag)::type>(args.reduce); });
  return apply;
}

/// Updates that justify a thread.
std::int64_t grain(const ScatterArgs& args) {
  constexpr std::int64_t kUpdates = 16384;
  constexpr std::int64_t kBytes = std::int64_t{64} << 10;
  return std::max<std::int64_t>(1, std::min(kUpdates, kBytes / (args.columns.count() * args.item)));
}

/// So many updates are resolved in one block of memory: more are sorted by slices.
constexpr std::int64_t kFewUpdates = 4096;

/// The largest slices whose part of the target stays in a core's cache, but enough for all threads.
int slice_shift(const ScatterArgs& args, int threads) {
  constexpr std::int64_t kSliceBytes = std::int64_t{256} << 10;
  const std::int64_t keys = args.keys.count();
  const std::int64_t in_cache =
      std::max<std::int64_t>(1, kSliceBytes / (args.columns.count() * args.item));
  const std::int64_t shared = std::max<std::int64_t>(1, keys / (std::int64_t{8} * threads));
  const auto slice = static_cast<std::uint64_t>(std::min(in_cache, shared));
  int shift = static_cast<int>(std::bit_width(slice)) - 1;
  while (((keys - 1) >> shift) >= SlicedUpdates::kMaxSlices) ++shift;
  return shift;
}

void scatter_few(const ScatterArgs& args, Apply apply) {
  std::array<Update, kFewUpdates> updates;
  const DefaultFloatingPoint environment;
  apply(args, {updates.data(), resolve_updates(args, 0, args.updates.count(), updates.data())});
}

void scatter_sliced(const ScatterArgs& args, Apply apply, int threads) {
  const SlicedUpdates sliced(args, slice_shift(args, threads));
  std::atomic<bool> out_of_memory{false};
  parallel_for(sliced.slices(), 1, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatingPoint environment;
    try {
      for (std::int64_t slice = begin; slice < end; ++slice) apply(args, sliced[slice]);
    } catch (const std::bad_alloc&) {
      out_of_memory.store(true, std::memory_order_relaxed);
    }
  });
  if (out_of_memory.load()) throw std::bad_alloc();
}

}  // namespace

void scatter(const ScatterArgs& args) {
  const Apply apply = apply_for(args);
  const std::int64_t count = args.updates.count();
  const int threads = threads_for(count, grain(args));
  if (threads == 1 && count <= kFewUpdates)
    scatter_few(args, apply);
  else
    scatter_sliced(args, apply, threads);
}

Strategy scatter_strategy(const ScatterArgs& args) {
  const std::int64_t count = args.updates.count();
  const int threads = threads_for(count, grain(args));
  const bool few = threads == 1 && count <= kFewUpdates;
  return {.path = few ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_PARTITIONED, .threads = threads};
}

}  // namespace gpukern::cpu

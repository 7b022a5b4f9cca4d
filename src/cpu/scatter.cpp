// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <vector>

#include "src/cpu/kernels.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/scatter_blocked.hpp"
#include "src/cpu/scatter_updates.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// Combines updates in order.
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

/// Counts the values of groups of elements.
class GroupCounts {
 public:
  /// For `updates` updates, of which groups get a few on average.
  explicit GroupCounts(std::int64_t updates)
      : values_(std::bit_ceil(static_cast<std::size_t>(
            std::clamp<std::int64_t>(updates / 16, 256, std::int64_t{4} << 20)))) {}

  /// Returns false if an element of some group may get values for a second block.
  bool add(const Updates& updates) {
    const std::size_t mask = values_.size() - 1;
    std::uint8_t most = 0;
    for (std::int64_t u = 0; u < updates.count; ++u) {
      std::uint8_t& values = values_[static_cast<std::size_t>(updates.first[u].key) & mask];
      if (values < kMost) ++values;
      most = std::max(most, values);
    }
    return most < kMost;
  }

 private:
  static constexpr std::uint8_t kMost = kBlockValues - 1;
  std::vector<std::uint8_t> values_;
};

/// The functions that combine in place and in blocks, and when the first one is exact.
struct Combiner {
  Apply in_place;
  Apply in_blocks;
  enum { Always, FewValues, Never } in_place_is_exact;
};

template <class T, gpukern_reduce reduce>
Combiner combiner_of(bool unique) {
  const bool one_step = std::is_same_v<T, Accumulator<T>> && reduce != GPUKERN_REDUCE_MEAN;
  return {combine_in_place<T, reduce>, combine_in_blocks<T, reduce>,
          unique || (one_step && !depends_on_order<T>(reduce)) ? Combiner::Always
          : one_step                                           ? Combiner::FewValues
                                                               : Combiner::Never};
}

template <class T>
Combiner combiner_for(gpukern_reduce reduce, bool unique) {
  if constexpr (!std::is_integral_v<T>)
    if (reduce == GPUKERN_REDUCE_MEAN) return combiner_of<T, GPUKERN_REDUCE_MEAN>(unique);
  if constexpr (!kIsComplex<T>) {
    if (reduce == GPUKERN_REDUCE_MULTIPLY) return combiner_of<T, GPUKERN_REDUCE_MULTIPLY>(unique);
    if (reduce == GPUKERN_REDUCE_MIN) return combiner_of<T, GPUKERN_REDUCE_MIN>(unique);
    if (reduce == GPUKERN_REDUCE_MAX) return combiner_of<T, GPUKERN_REDUCE_MAX>(unique);
  }
  return combiner_of<T, GPUKERN_REDUCE_ADD>(unique);
}

Combiner combiner_for(const ScatterArgs& args) {
  Combiner combiner{put, put, Combiner::Always};
  if (args.reduce == GPUKERN_REDUCE_NONE) return combiner;
  visit_reduced_dtype(args.dtype, [&](auto tag) {
    combiner = combiner_for<typename decltype(tag)::type>(args.reduce, args.unique);
  });
  return combiner;
}

void combine_in_order(const ScatterArgs& args, const Combiner& combiner, const Updates& updates) {
  const bool in_place = combiner.in_place_is_exact == Combiner::Always ||
                        (combiner.in_place_is_exact == Combiner::FewValues &&
                         (updates.count < kBlockValues || GroupCounts(updates.count).add(updates)));
  (in_place ? combiner.in_place : combiner.in_blocks)(args, updates);
}

/// Updates that justify a thread.
std::int64_t grain(const ScatterArgs& args) {
  constexpr std::int64_t kUpdates = 16384;
  constexpr std::int64_t kBytes = std::int64_t{64} << 10;
  return std::max<std::int64_t>(1, std::min(kUpdates, kBytes / (args.columns.count() * args.item)));
}

/// So many updates are resolved in one block of memory: more are sorted by slices.
constexpr std::int64_t kFewUpdates = 4096;

/// Sorting the updates takes two threads as long as combining them takes one.
constexpr int kSortingThreads = 3;

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

void scatter_few(const ScatterArgs& args, const Combiner& combiner) {
  std::array<Update, kFewUpdates> updates;
  const DefaultFloatingPoint environment;
  combine_in_order(
      args, combiner,
      {updates.data(), resolve_updates(args, 0, args.updates.count(), updates.data())});
}

/// Combines all updates in place, on the calling thread, if that is exact.
bool scattered_in_place(const ScatterArgs& args, const Combiner& combiner) {
  if (combiner.in_place_is_exact == Combiner::Never) return false;
  const std::int64_t count = args.updates.count();
  if (combiner.in_place_is_exact == Combiner::FewValues) {
    GroupCounts counts(count);
    bool few = true;
    for_each_block(args, 0, count, [&](const Updates& block) { few = few && counts.add(block); });
    if (!few) return false;
  }
  const DefaultFloatingPoint environment;
  for_each_block(args, 0, count, [&](const Updates& block) { combiner.in_place(args, block); });
  return true;
}

void scatter_sliced(const ScatterArgs& args, const Combiner& combiner, int threads) {
  const SlicedUpdates sliced(args, slice_shift(args, threads));
  std::atomic<bool> out_of_memory{false};
  parallel_for(sliced.slices(), 1, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatingPoint environment;
    try {
      for (std::int64_t slice = begin; slice < end; ++slice)
        combine_in_order(args, combiner, sliced[slice]);
    } catch (const std::bad_alloc&) {
      out_of_memory.store(true, std::memory_order_relaxed);
    }
  });
  if (out_of_memory.load()) throw std::bad_alloc();
}

}  // namespace

void scatter(const ScatterArgs& args) {
  const Combiner combiner = combiner_for(args);
  const std::int64_t count = args.updates.count();
  const int threads = threads_for(count, grain(args));
  if (threads == 1 && count <= kFewUpdates) return scatter_few(args, combiner);
  if (threads < kSortingThreads && scattered_in_place(args, combiner)) return;
  scatter_sliced(args, combiner, threads);
}

Strategy scatter_strategy(const ScatterArgs& args) {
  const std::int64_t count = args.updates.count();
  const int threads = threads_for(count, grain(args));
  const bool few = threads == 1 && count <= kFewUpdates;
  return {.path = few ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_PARTITIONED, .threads = threads};
}

}  // namespace gpukern::cpu

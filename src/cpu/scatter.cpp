// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "src/cpu/kernels.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/scatter_reductions.hpp"
#include "src/cpu/scatter_tables.hpp"
#include "src/cpu/scatter_updates.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// The keys that updates may have.
struct KeyRange {
  std::int64_t first;
  std::int64_t count;
};

/// Calls visit(updates) once for all updates or for their blocks, in order.
using ForEachBlock = std::function<void(const std::function<void(const Updates&)>& visit)>;

/// How a call combines updates. Without in_blocks and sparse, always in place.
struct Combiner {
  /// Each with the element at once: exact if the order does not matter or the indices are unique.
  void (*in_place)(const ScatterArgs& args, const Updates& updates);
  /// In blocks, for keys in a range that is not much larger than the number of updates.
  void (*in_blocks)(const ScatterArgs& args, const KeyRange& keys, const ForEachBlock& blocks);
  /// In blocks, for any keys.
  void (*sparse)(const ScatterArgs& args, const Updates& updates);
  /// See TableCombiner.
  void (*write_identity)(std::byte* element);
  /// Keys for each update with which in_blocks still costs less than to sort the updates.
  std::int64_t most_keys = 0;

  [[nodiscard]] bool is_always_in_place() const { return in_blocks == nullptr; }
};

void put(const ScatterArgs& args, const Updates& updates) {
  const bool is_single = args.columns.ndim == 0;
  visit_width(args.item, [&](auto width) {
    for_each_update(args, updates,
                    [&, is_single](std::int64_t, std::byte* target, const std::byte* value) {
                      if (is_single) {
                        std::memcpy(target, value, width);
                        return;
                      }
                      for_each_column(args.columns, [&](std::int64_t to, std::int64_t from) {
                        std::memcpy(target + to, value + from, width);
                      });
                    });
  });
}

/// Whether an element of the target can take the place of its accumulator.
template <class T>
constexpr bool is_in_target(gpukern_reduce reduce) {
  return std::is_same_v<T, Accumulator<T>> && reduce != GPUKERN_REDUCE_MEAN;
}

template <class T, gpukern_reduce reduce>
void combine_in_place(const ScatterArgs& args, const Updates& updates) {
  const Row<T, reduce> row(args);
  const bool is_single = args.columns.ndim == 0;
  for_each_update(args, updates,
                  [&, is_single](std::int64_t, std::byte* target, const std::byte* value) {
                    if (is_single)
                      combine_element<T, reduce>(target, value, 2);
                    else
                      row.combine_in_place(target, value, 2);
                  });
}

template <class T, gpukern_reduce reduce>
void combine_in_blocks(const ScatterArgs& args, const KeyRange& keys, const ForEachBlock& blocks) {
  const auto run = [&](auto&& reduction) {
    blocks([&](const Updates& updates) { reduction.add(updates); });
    reduction.finish();
  };
  if constexpr (is_in_target<T>(reduce))
    run(CountedReduction<T, reduce>(args, keys.first, keys.count));
  else
    run(BlockedReduction<T, reduce>(args, keys.first, keys.count, true));
}

/// Whether no element gets values for a second block. Counts the values of groups of elements.
bool fit_one_block(const Updates& updates) {
  if (updates.count < kBlockValues) return true;
  std::vector<std::uint8_t> values(std::bit_ceil(
      static_cast<std::size_t>(std::min<std::int64_t>(updates.count / 8, std::int64_t{1} << 20))));
  std::uint8_t most = 0;
  for (std::int64_t u = 0; u < updates.count && most < kBlockValues - 1; ++u)
    most = std::max(most,
                    ++values[static_cast<std::size_t>(updates.first[u].key) & (values.size() - 1)]);
  return most < kBlockValues - 1;
}

template <class T, gpukern_reduce reduce>
void combine_sparse(const ScatterArgs& args, const Updates& updates) {
  if (is_in_target<T>(reduce) && fit_one_block(updates))
    return combine_in_place<T, reduce>(args, updates);
  BlockedReduction<T, reduce> reduction(args, 0, updates.count, false);
  for_each_part(updates, args.row_bytes(), [&](const Updates& part) { reduction.add(part); });
  reduction.finish();
}

template <class T, gpukern_reduce reduce>
void write_identity(std::byte* element) {
  store_as<T>(element, reduce == GPUKERN_REDUCE_MULTIPLY ? T{1} : identity<T>(reduce));
}

template <class Element, gpukern_reduce reduce>
Combiner combiner_with() {
  using T = typename ReducedAs<Element, reduce>::Type;
  if constexpr (depends_on_order<T>(reduce))
    return {combine_in_place<T, reduce>, combine_in_blocks<T, reduce>, combine_sparse<T, reduce>,
            nullptr, is_in_target<T>(reduce) ? 32 : 4};
  else if constexpr (std::is_integral_v<T>)
    return {combine_in_place<T, reduce>, nullptr, nullptr, write_identity<T, reduce>};
  else  // a NaN without updates has to keep its bits
    return {combine_in_place<T, reduce>, nullptr, nullptr, nullptr};
}

template <class T>
Combiner combiner_of(gpukern_reduce reduce) {
  if constexpr (!std::is_integral_v<T>)
    if (reduce == GPUKERN_REDUCE_MEAN) return combiner_with<T, GPUKERN_REDUCE_MEAN>();
  if constexpr (!kIsComplex<T>) {
    if (reduce == GPUKERN_REDUCE_MULTIPLY) return combiner_with<T, GPUKERN_REDUCE_MULTIPLY>();
    if (reduce == GPUKERN_REDUCE_MIN) return combiner_with<T, GPUKERN_REDUCE_MIN>();
    if (reduce == GPUKERN_REDUCE_MAX) return combiner_with<T, GPUKERN_REDUCE_MAX>();
  }
  return combiner_with<T, GPUKERN_REDUCE_ADD>();
}

Combiner combiner_for(const ScatterArgs& args) {
  Combiner combiner{put, nullptr, nullptr, nullptr};
  if (args.reduce == GPUKERN_REDUCE_NONE) return combiner;
  visit_reduced_dtype(args.dtype, [&](auto tag) {
    combiner = combiner_of<typename decltype(tag)::type>(args.reduce);
  });
  if (args.unique) combiner.in_blocks = nullptr;
  return combiner;
}

bool is_dense(std::int64_t keys, std::int64_t updates) { return keys <= 4 * updates; }

/// Combines updates whose keys are in a range.
void combine_all(const ScatterArgs& args, const Combiner& combiner, const KeyRange& keys,
                 const Updates& updates) {
  if (combiner.is_always_in_place())
    for_each_part(updates, args.row_bytes(),
                  [&](const Updates& part) { combiner.in_place(args, part); });
  else if (is_dense(keys.count, updates.count))
    combiner.in_blocks(args, keys,
                       [&](const auto& visit) { for_each_part(updates, args.row_bytes(), visit); });
  else
    combiner.sparse(args, updates);
}

/// Combines blocks of updates whose keys are in a range.
void combine_blocks(const ScatterArgs& args, const Combiner& combiner, const KeyRange& keys,
                    const ForEachBlock& blocks) {
  if (combiner.is_always_in_place())
    blocks([&](const Updates& block) { combiner.in_place(args, block); });
  else
    combiner.in_blocks(args, keys, blocks);
}

/// Lets work on several threads, which must not throw, run out of memory.
class MemoryErrors {
 public:
  template <class Body>
  void collect(const Body& body) {
    try {
      body();
    } catch (const std::bad_alloc&) {
      found_.store(true, std::memory_order_relaxed);
    }
  }
  void rethrow() const {
    if (found_.load()) throw std::bad_alloc();
  }

 private:
  std::atomic<bool> found_{false};
};

/// Updates that justify a thread.
std::int64_t grain(const ScatterArgs& args) {
  constexpr std::int64_t kUpdates = 16384;
  constexpr std::int64_t kBytes = std::int64_t{64} << 10;
  return std::max<std::int64_t>(1, std::min(kUpdates, kBytes / (args.columns.count() * args.item)));
}

/// As many updates are resolved on the stack.
constexpr std::int64_t kFewUpdates = 4096;

/// The number of threads that share the keys; each of them reads all indices.
int sharing_threads(const ScatterArgs& args, int threads) {
  constexpr std::int64_t kElements = std::int64_t{1} << 17;  // fewer do not justify the threads
  constexpr int kMost = 16;
  const std::int64_t columns = args.columns.count();
  if (args.updates.count() * columns < kElements) return 1;
  // To put an item takes about as long as to read its index, unless the target is far away.
  const bool is_near = args.keys.count() * args.item <= 8 * core_cache_bytes();
  if (args.reduce == GPUKERN_REDUCE_NONE && columns == 1 && (is_near || threads == 2)) return 1;
  return std::min(threads, kMost);
}

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
  combine_all(args, combiner, {0, args.keys.count()},
              {updates.data(), resolve_updates(args, 0, args.updates.count(), updates.data())});
}

/// On the calling thread, without sorting.
void scatter_in_order(const ScatterArgs& args, const Combiner& combiner) {
  const DefaultFloatingPoint environment;
  combine_blocks(args, combiner, {0, args.keys.count()},
                 [&](const auto& visit) { for_each_block(args, 0, args.updates.count(), visit); });
}

/// Calls visit(updates) for the updates whose keys are in a range, in order.
void for_each_block_in(const ScatterArgs& args, const KeyRange& keys,
                       const std::function<void(const Updates&)>& visit) {
  std::array<Update, 2 * UpdateReader::kBlock> kept;  // NOLINT(*-member-init): the first `count`
  std::int64_t count = 0;
  const auto flush = [&] { visit({kept.data(), std::exchange(count, 0)}); };
  for_each_block(args, 0, args.updates.count(), [&](const Updates& updates) {
    visit_updates(updates, [&](const auto key, const auto value) {
      Update* const to = kept.data();
      std::int64_t at = count;
      for (std::int64_t u = 0; u < updates.count; ++u) {  // without a branch
        to[at] = {key(u), value(u)};
        at += static_cast<std::uint64_t>(key(u) - keys.first) <
              static_cast<std::uint64_t>(keys.count);
      }
      count = at;
    });
    if (count > UpdateReader::kBlock) flush();
  });
  flush();
}

/// Shares ranges of keys among threads, each of which reads all indices.
void scatter_ranges(const ScatterArgs& args, const Combiner& combiner, int threads) {
  const std::int64_t keys = args.keys.count();
  MemoryErrors errors;
  parallel_pieces(threads, [&](std::int64_t piece) {
    const DefaultFloatingPoint environment;
    const std::int64_t first = keys / threads * piece;
    const KeyRange range{first, piece + 1 < threads ? keys / threads : keys - first};
    errors.collect([&] {
      combine_blocks(args, combiner, range,
                     [&](const auto& visit) { for_each_block_in(args, range, visit); });
    });
  });
  errors.rethrow();
}

/// Sorts the updates by slices of the keys, which threads share.
void scatter_sliced(const ScatterArgs& args, const Combiner& combiner, int threads) {
  const int shift = slice_shift(args, threads);
  const SlicedUpdates sliced = slice_updates(args, shift);
  const std::int64_t keys = args.keys.count();
  MemoryErrors errors;
  parallel_for(sliced.slices(), 1, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatingPoint environment;
    errors.collect([&] {
      for (std::int64_t slice = begin; slice < end; ++slice) {
        const std::int64_t first = slice << shift;
        const std::int64_t range = std::min(std::int64_t{1} << shift, keys - first);
        const std::int64_t from = sliced.begin_of(slice);
        combine_all(args, combiner, {first, range},
                    {sliced.updates.get() + from, sliced.begin_of(slice + 1) - from});
      }
    });
  });
  errors.rethrow();
}

/// The number of keys of each position of the outermost dimension, if no two of them share a key,
/// as along the last axis; otherwise 0.
std::int64_t keys_of_row(const ScatterArgs& args) {
  const Loop<3>& updates = args.updates;
  if (updates.ndim < 2) return 0;
  std::int64_t last = (args.n - 1) * args.key_step;
  for (int d = 1; d < updates.ndim; ++d) last += (updates.extent[d] - 1) * updates.stride[kKey][d];
  const std::int64_t row = updates.stride[kKey][0];
  return last < row ? row : 0;
}

/// Shares rows that have no key in common among threads, without sorting.
void scatter_rows(const ScatterArgs& args, const Combiner& combiner) {
  const std::int64_t keys = keys_of_row(args);
  const std::int64_t length = args.updates.count() / args.updates.extent[0];
  MemoryErrors errors;
  parallel_for(args.updates.extent[0], std::max<std::int64_t>(1, grain(args) / length),
               [&](std::int64_t begin, std::int64_t end) {
                 const DefaultFloatingPoint environment;
                 errors.collect([&] {
                   combine_blocks(args, combiner, {begin * keys, (end - begin) * keys},
                                  [&](const auto& visit) {
                                    for_each_block(args, begin * length, end * length, visit);
                                  });
                 });
               });
  errors.rethrow();
}

enum class Way { Few, Tables, InOrder, Rows, Ranges, Sliced };

bool can_use_tables(const ScatterArgs& args, const Combiner& combiner) {
  return combiner.write_identity != nullptr || args.reduce == GPUKERN_REDUCE_NONE;
}

Way way_of(const ScatterArgs& args, const Combiner& combiner, int threads) {
  const std::int64_t count = args.updates.count();
  if (threads == 1 && count <= kFewUpdates) return Way::Few;
  const std::int64_t keys = keys_of_row(args);
  if (threads > 1 && keys > 0 && args.updates.extent[0] >= threads &&
      (combiner.is_always_in_place() || is_dense(keys * args.updates.extent[0], count)))
    return Way::Rows;
  if (can_use_tables(args, combiner) && tables_for(args, threads) > 0) return Way::Tables;
  const bool can_stream =
      combiner.is_always_in_place() || args.keys.count() / combiner.most_keys <= count;
  if (!can_stream) return Way::Sliced;
  return sharing_threads(args, threads) > 1 ? Way::Ranges : Way::InOrder;
}

}  // namespace

void scatter(const ScatterArgs& args) {
  const Combiner combiner = combiner_for(args);
  const int threads = threads_for(args.updates.count(), grain(args));
  switch (way_of(args, combiner, threads)) {
    case Way::Few:
      return scatter_few(args, combiner);
    case Way::Tables:
      return scatter_by_tables(args, {combiner.in_place, combiner.write_identity},
                               tables_for(args, threads));
    case Way::InOrder:
      return scatter_in_order(args, combiner);
    case Way::Rows:
      return scatter_rows(args, combiner);
    case Way::Ranges:
      return scatter_ranges(args, combiner, sharing_threads(args, threads));
    case Way::Sliced:
      return scatter_sliced(args, combiner, threads);
  }
}

Strategy scatter_strategy(const ScatterArgs& args) {
  const int threads = threads_for(args.updates.count(), grain(args));
  const Way way = way_of(args, combiner_for(args), threads);
  const bool is_serial = way == Way::Few || way == Way::InOrder;
  return {.path = way == Way::Sliced ? GPUKERN_PATH_PARTITIONED : GPUKERN_PATH_ITEMS,
          .threads = is_serial            ? 1
                     : way == Way::Ranges ? sharing_threads(args, threads)
                                          : threads};
}

}  // namespace gpukern::cpu

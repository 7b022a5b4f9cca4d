// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "src/cpu/cache.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/scatter_combiner.hpp"
#include "src/cpu/scatter_few_keys.hpp"
#include "src/cpu/scatter_tables.hpp"
#include "src/cpu/scatter_updates.hpp"
#include "src/cpu/update_counts.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

bool is_dense(std::int64_t keys, std::int64_t updates) { return keys <= 4 * updates; }

/// Combines updates whose keys are in a range.
void combine_all(const ScatterArgs& args, const Combiner& combiner, const KeyRange& keys,
                 const Updates& updates) {
  if (combiner.is_in_place())
    for_each_part(updates, args.row_bytes(),
                  [&](const Updates& part) { combiner.in_place(args, part); });
  else if (keys.count / combiner.most_keys <= updates.count)
    combiner.in_blocks(args, keys,
                       [&](const auto& visit) { for_each_part(updates, args.row_bytes(), visit); });
  else
    combiner.sparse(args, updates);
}

/// Combines blocks of updates whose keys are in a range.
void combine_blocks(const ScatterArgs& args, const Combiner& combiner, const KeyRange& keys,
                    const ForEachBlock& blocks) {
  if (combiner.is_in_place())
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
  // To put an item takes about as long as to read its index, unless the target is far away. Few
  // threads do not gain from a near target by other combinations either.
  const bool is_near = args.keys.count() * args.item <= 8 * core_cache_bytes() / threads;
  if (columns == 1 && is_near && (args.reduce == GPUKERN_REDUCE_NONE || threads <= 4)) return 1;
  return static_cast<int>(std::min<std::int64_t>({threads, kMost, args.keys.count()}));
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

/// Whether has_no_second_block() may be true, and takes less time than to count the updates of each
/// element as they are combined.
bool is_worth_counting(const ScatterArgs& args, const Combiner& combiner) {
  constexpr std::int64_t kNear = std::int64_t{1} << 16;  // their counts are in a near cache
  constexpr std::int64_t kMostUpdates = UpdateCounts::kMost * UpdateCounts::kMostGroups / 4 * 3;
  const std::int64_t count = args.updates.count();
  const std::int64_t keys = args.keys.count();
  if (!combiner.is_exact_in_a_block || combiner.is_in_place()) return false;
  return count < kBlockValues || (count / keys < kBlockValues && count <= kMostUpdates &&
                                  (keys > kNear || !is_dense(keys, count)));
}

/// Whether surely no element has more than a block of values. Reads all indices.
bool has_no_second_block(const ScatterArgs& args, int threads) {
  constexpr int kMostParts = 16;
  const std::int64_t count = args.updates.count();
  if (count < kBlockValues) return true;
  const int parts = std::min(threads, kMostParts);
  std::vector<UpdateCounts> counts(static_cast<std::size_t>(parts));
  std::atomic<bool> fit{true};
  MemoryErrors errors;
  parallel_pieces(parts, [&](std::int64_t part) {
    errors.collect([&] {
      UpdateCounts& own = counts[static_cast<std::size_t>(part)];
      own = UpdateCounts(count);
      UpdateReader reader(args);
      const std::int64_t end = begin_of_part(count, parts, part + 1);
      for (std::int64_t at = begin_of_part(count, parts, part);
           at < end && fit.load(std::memory_order_relaxed) && !is_stopped();)
        if (!own.add(reader.read(at, std::min(at + UpdateReader::kBlock, end))))
          fit.store(false, std::memory_order_relaxed);
    });
  });
  errors.rethrow();
  return fit.load() && (parts == 1 || UpdateCounts::fit_together(counts));
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
    const std::int64_t first = begin_of_part(keys, threads, piece);
    const KeyRange range{first, begin_of_part(keys, threads, piece + 1) - first};
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

/// The columns of a tile, if positions with different innermost coordinates have no key in common,
/// as along any axis but the last one, and the threads can share them; else 0.
std::int64_t columns_of_tile(const ScatterArgs& args, int threads) {
  constexpr std::int64_t kLeast = 64;
  constexpr std::int64_t kMostSharing = 16;    // see sharing_threads()
  constexpr std::int64_t kTilesPerThread = 4;  // a late thread leaves some to others
  const Loop<3>& updates = args.updates;
  const int inner = updates.ndim - 1;
  if (threads == 1 || inner < 1 || args.keys.ndim > 1) return 0;
  const std::int64_t step = run_stride(updates, kKey);
  const std::int64_t columns = updates.extent[inner];
  bool apart = step > 0 && columns <= args.key_step / step;
  for (int d = 0; d < inner; ++d) apart = apart && updates.stride[kKey][d] % args.key_step == 0;
  const bool is_near = args.keys.count() * args.item <= core_cache_bytes();
  if (!apart || is_near || columns / kLeast < std::min<std::int64_t>(threads, kMostSharing))
    return 0;
  return std::max(kLeast, columns / (kTilesPerThread * threads));
}

/// Shares tiles of columns among threads, none of which reads the indices of others.
void scatter_tiles(const ScatterArgs& args, const Combiner& combiner, int threads) {
  const int inner = args.updates.ndim - 1;
  const std::int64_t width = columns_of_tile(args, threads);
  const std::int64_t columns = args.updates.extent[inner];
  const auto stride = [&](int operand) { return run_stride(args.updates, operand); };
  parallel_for((columns - 1) / width + 1, 1, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatingPoint environment;
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t first = tile * width;
      ScatterArgs part = args;
      part.updates.extent[inner] = std::min(width, columns - first);
      part.target += first * stride(kKey) * run_stride(args.keys, 0);
      part.index += first * stride(kUpdateIndex);
      part.values += first * stride(kUpdateValue);
      for_each_block(part, 0, part.updates.count(),
                     [&](const Updates& block) { combiner.in_place(part, block); });
    }
  });
}

enum class Way { Few, Tables, FewKeys, InOrder, Rows, Tiles, Ranges, Sliced };

bool can_use_tables(const ScatterArgs& args, const Combiner& combiner) {
  return combiner.write_identity != nullptr || args.reduce == GPUKERN_REDUCE_NONE;
}

Way way_of(const ScatterArgs& args, const Combiner& combiner, int threads) {
  const std::int64_t count = args.updates.count();
  if (threads == 1 && count <= kFewUpdates && !combiner.is_in_place() &&
      !is_dense(args.keys.count(), count))
    return Way::Few;
  const std::int64_t keys = keys_of_row(args);
  if (threads > 1 && keys > 0 && args.updates.extent[0] >= threads &&
      (combiner.is_in_place() || is_dense(keys * args.updates.extent[0], count)))
    return Way::Rows;
  if (combiner.is_in_place() && columns_of_tile(args, threads) > 0) return Way::Tiles;
  if (can_use_tables(args, combiner) && tables_for(args, threads) > 0) return Way::Tables;
  if (!combiner.is_in_place() && parts_of_few_keys(args, threads) > 0) {
    // Each reads its part of the indices twice, in place of all indices.
    const int sharing = sharing_threads(args, threads);
    if (sharing == 1 || 2 * parts_of_few_keys(args, threads) >= sharing) return Way::FewKeys;
  }
  const bool can_stream = combiner.is_in_place() || args.keys.count() / combiner.most_keys <= count;
  if (!can_stream) return Way::Sliced;
  return sharing_threads(args, threads) > 1 ? Way::Ranges : Way::InOrder;
}

}  // namespace

void scatter(const ScatterArgs& args) {
  Combiner combiner = combiner_for(args);
  const int threads = threads_for(args.updates.count(), grain(args));
  if (is_worth_counting(args, combiner) && has_no_second_block(args, threads))
    combiner.use_in_place();
  switch (way_of(args, combiner, threads)) {
    case Way::Few:
      return scatter_few(args, combiner);
    case Way::Tables:
      return scatter_by_tables(args, {combiner.in_place, combiner.write_identity},
                               tables_for(args, threads));
    case Way::FewKeys:
      return combiner.few_keys(args, parts_of_few_keys(args, threads));
    case Way::InOrder:
      return scatter_in_order(args, combiner);
    case Way::Rows:
      return scatter_rows(args, combiner);
    case Way::Tiles:
      return scatter_tiles(args, combiner, threads);
    case Way::Ranges:
      return scatter_ranges(args, combiner, sharing_threads(args, threads));
    case Way::Sliced:
      return scatter_sliced(args, combiner, threads);
  }
}

Strategy scatter_strategy(const ScatterArgs& args) {
  const int threads = threads_for(args.updates.count(), grain(args));
  Combiner combiner = combiner_for(args);
  if (is_worth_counting(args, combiner)) combiner.use_in_place();  // as if all have few values
  Strategy strategy{.path = GPUKERN_PATH_ITEMS, .threads = threads};
  switch (way_of(args, combiner, threads)) {
    case Way::Few:
    case Way::InOrder:
      strategy.threads = 1;
      break;
    case Way::FewKeys:
      strategy.threads = static_cast<int>(parts_of_few_keys(args, threads));
      break;
    case Way::Ranges:
      strategy.threads = sharing_threads(args, threads);
      break;
    case Way::Sliced:
      strategy.path = GPUKERN_PATH_PARTITIONED;
      break;
    case Way::Tables:
    case Way::Rows:
    case Way::Tiles:
      break;
  }
  return strategy;
}

}  // namespace gpukern::cpu

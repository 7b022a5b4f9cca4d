// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "src/cpu/bag_loops.hpp"
#include "src/cpu/cache.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/stop.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// Bags and items that justify a thread.
std::int64_t grain(const GatherReduceArgs& args) {
  constexpr std::int64_t kMost = 16384;
  constexpr std::int64_t kBytes = std::int64_t{64} << 10;
  return std::max<std::int64_t>(1, std::min(kMost, kBytes / (args.columns.count() * args.item)));
}

/// Parts for each thread, so that one which begins late takes fewer.
constexpr std::int64_t kPartsOfThread = 8;

/// Divides the bags into parts with about as many bags and items: part p has the bags from
/// result[p] to result[p + 1].
std::vector<std::int64_t> divided(const Bags& bags, std::int64_t number, std::int64_t parts) {
  const std::int64_t first = bags.offset(0);
  const std::int64_t work = std::max<std::int64_t>(0, bags.offset(number) - first) + number;
  std::vector<std::int64_t> begins{0};
  for (std::int64_t part = 1; part < parts; ++part) {
    const std::int64_t wanted = work / parts * part;
    std::int64_t low = begins.back();  // also where offsets fall: each bag is in one part
    for (std::int64_t high = number; low < high;) {
      const std::int64_t middle = low + (high - low) / 2;
      if (bags.offset(middle) - first + middle < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    begins.push_back(low);
  }
  begins.push_back(number);
  return begins;
}

/// Columns [first, first + count).
struct Tile {
  std::int64_t first;
  std::int64_t count;
};

/// Columns of a tile: sums, or the elements themselves.
struct alignas(kMostAccumulatorBytes) TileMemory {
  std::byte bytes[kTileColumns * kMostAccumulatorBytes];
};

/// Calls visit(offset in an operand, position in the tile) for every column of a tile.
template <class Visit>
void for_each_column(const Loop<2>& columns, const Tile& tile, int operand, const Visit& visit) {
  const std::int64_t step = run_stride(columns, operand);
  std::int64_t column = 0;
  for_each_run(columns, tile.first, tile.first + tile.count,
               [&](const auto& offset, std::int64_t length) {
                 for (std::int64_t i = 0; i < length; ++i)
                   visit(offset[operand] + i * step, column++);
               });
}

/// The reduction of bags by one thread.
class BagReduction {
 public:
  BagReduction(const GatherReduceArgs& args, const BagLoops& loops)
      : args_(args),
        loops_(loops),
        columns_(args.columns.count()),
        contiguous_(args.columns.contiguous(kSourceColumn, args.item)),
        contiguous_out_(args.columns.contiguous(kOutColumn, args.item)),
        window_(args, contiguous_ ? columns_ * args.item : args.item, loops.weights) {}

  /// Writes the reduction of a bag of at most kUnitItems.
  void reduce_bag(std::int64_t bag, Items items) {
    if (columns_ == 1)
      return loops_.reduce_column(args_, window_, items, args_.out + bag * args_.out_step);
    for_each_tile([&](const Tile& tile) {
      TileMemory sums;
      const std::int64_t count = reduce_unit(items, tile, sums.bytes);
      store(bag, tile, sums.bytes, count);
    });
  }

  /// Combines at most kUnitItems and returns their number, without those that are left out.
  std::int64_t reduce_unit(Items items, const Tile& tile, std::byte* sums) {
    if (loops_.combine_run != nullptr) {
      loops_.combine_run(args_.source + items.begin * args_.item, items.count(), sums);
      return items.count();
    }
    if (columns_ == 1) return loops_.combine_column(args_, window_, items, sums);
    if (items.count() <= kBlockValues) return combine_block(items, tile, sums);
    return combine_blocks(items, tile, sums);
  }

  /// Writes the result of `count` items.
  void store(std::int64_t bag, const Tile& tile, const std::byte* sums, std::int64_t count) const {
    std::byte* const out = args_.out + bag * args_.out_step;
    if (contiguous_out_)
      return loops_.finish(args_.reduce, sums, tile.count, count, out + tile.first * args_.item);
    TileMemory packed;
    loops_.finish(args_.reduce, sums, tile.count, count, packed.bytes);
    visit_width(args_.item, [&](auto width) {
      for_each_column(args_.columns, tile, kOutColumn, [&](std::int64_t offset, std::int64_t c) {
        std::memcpy(out + offset, packed.bytes + c * args_.item, width);
      });
    });
  }

  template <class Visit>
  void for_each_tile(const Visit& visit) const {
    for (std::int64_t first = 0; first < columns_; first += kTileColumns) {
      if (first > 0 && is_stopped()) return;
      visit(Tile{first, std::min(kTileColumns, columns_ - first)});
    }
  }

 private:
  std::int64_t combine_block(Items items, const Tile& tile, std::byte* sums) {
    const BlockRows rows = window_.rows(items);
    if (contiguous_)
      loops_.combine_block(rows, tile.first * args_.item, tile.count, sums);
    else
      combine_strided(rows, tile, sums);
    return rows.count;
  }

  // Not inlined: its stack is large.
  [[gnu::noinline]] std::int64_t combine_blocks(Items items, const Tile& tile, std::byte* sums) {
    std::array<TileMemory, 6> levels;  // level k holds the sums of 2^k blocks
    const auto join_level = [&](std::size_t k) {
      loops_.join(levels[k].bytes, sums, sums, tile.count);
    };
    std::uint64_t taken = 0;
    std::int64_t count = 0;
    for (std::int64_t begin = items.begin; begin < items.end; begin += kBlockValues, ++taken) {
      count += combine_block({begin, std::min(begin + kBlockValues, items.end)}, tile, sums);
      std::size_t k = 0;
      for (; (taken >> k & 1U) != 0; ++k) join_level(k);
      if (begin + kBlockValues < items.end)
        std::copy_n(sums, tile.count * loops_.sum_bytes, levels[k].bytes);
    }
    // The last block is joined with those of equal length already.
    --taken;
    for (auto k = static_cast<std::size_t>(__builtin_ctzll(~taken)); taken >> k != 0; ++k)
      if ((taken >> k & 1U) != 0) join_level(k);
    return count;
  }

  /// Packs some columns of all rows at a time.
  void combine_strided(const BlockRows& rows, const Tile& tile, std::byte* sums) const {
    constexpr std::int64_t kPackedBytes = std::int64_t{32} << 10;
    std::array<std::byte, kPackedBytes> packed;
    std::array<const std::byte*, kBlockValues> row;
    const std::int64_t most = kPackedBytes / (std::max<std::int64_t>(1, rows.count) * args_.item);
    for (std::int64_t done = 0; done < tile.count; done += most) {
      const Tile part{tile.first + done, std::min(most, tile.count - done)};
      visit_width(args_.item, [&](auto width) {
        std::byte* to = packed.data();
        for (std::int64_t k = 0; k < rows.count; ++k) {
          row[static_cast<std::size_t>(k)] = to;
          if (rows.fetched) prefetch(rows.row[k + kRowsAhead]);
          for_each_column(args_.columns, part, kSourceColumn,
                          [&](std::int64_t offset, std::int64_t /*column*/) {
                            std::memcpy(to, rows.row[k] + offset, width);
                            to += width;
                          });
        }
      });
      loops_.combine_block({row.data(), rows.weight, rows.count, false}, 0, part.count,
                           sums + done * loops_.sum_bytes);
    }
  }

  const GatherReduceArgs& args_;
  const BagLoops& loops_;
  std::int64_t columns_;
  bool contiguous_;
  bool contiguous_out_;
  RowWindow window_;
};

/// Elements of bags between two looks at whether the call is stopped; of neighbours that are
/// combined as vectors up to 64 times as many, which take some milliseconds.
constexpr std::int64_t kStopPart = std::int64_t{1} << 16;

/// Bags that are combined without a look.
constexpr std::int64_t kShortBags = kStopPart / kBlockValues;

/// Returns whether there are longer bags than kUnitItems, which it leaves out.
bool reduce_bags(const GatherReduceArgs& args, const BagLoops& loops, const Bags& bags,
                 std::int64_t begin, std::int64_t end) {
  const DefaultFloatingPoint environment;
  BagReduction reduction(args, loops);
  const std::int64_t columns = args.columns.count();
  const bool may_be_short = columns == 1 && loops.reduce_short_bags != nullptr;
  bool has_long = false;
  std::int64_t part = kStopPart;
  for (std::int64_t bag = begin; bag < end;) {
    if (part >= kStopPart) {
      if (is_stopped()) break;
      part = 0;
    }
    if (may_be_short) {
      const std::int64_t next = loops.reduce_short_bags(args, loops.combine_run, bags, bag,
                                                        std::min(bag + kShortBags, end));
      if (next > bag) {
        part = kStopPart;
        bag = next;
        continue;
      }
    }
    const Items items = bags[bag];
    if (items.count() > kUnitItems) {
      has_long = true;
    } else {
      reduction.reduce_bag(bag, items);
      part += (items.count() + 1) * columns;
    }
    ++bag;
  }
  return has_long;
}

/// By units of items, which threads share.
void reduce_long(const GatherReduceArgs& args, const BagLoops& loops, std::int64_t bag,
                 Items items) {
  const std::int64_t units = (items.count() - 1) / kUnitItems + 1;
  const std::int64_t columns = args.columns.count();
  const std::int64_t unit_bytes = columns * loops.sum_bytes;
  // No memory bounds the number of items: an index may repeat one element.
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(units, unit_bytes, &bytes)) throw std::bad_alloc();
  const auto sums = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  const auto sums_of = [&](std::int64_t unit) { return sums.get() + unit * unit_bytes; };
  std::atomic<std::int64_t> count{0};
  const std::int64_t unit_grain = std::max<std::int64_t>(1, grain(args) / kUnitItems);
  parallel_for(units, unit_grain, [&](std::int64_t first, std::int64_t last) {
    const DefaultFloatingPoint environment;
    BagReduction reduction(args, loops);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t begin = items.begin + unit * kUnitItems;
      const Items part{begin, std::min(begin + kUnitItems, items.end)};
      reduction.for_each_tile([&](const Tile& tile) {
        const std::int64_t found =
            reduction.reduce_unit(part, tile, sums_of(unit) + tile.first * loops.sum_bytes);
        if (tile.first == 0) count.fetch_add(found, std::memory_order_relaxed);
      });
    }
  });
  const DefaultFloatingPoint environment;
  for (std::int64_t step = 1; step < units; step *= 2)
    for (std::int64_t unit = 0; unit + step < units; unit += 2 * step)
      loops.join(sums_of(unit), sums_of(unit + step), sums_of(unit), columns);
  const BagReduction reduction(args, loops);
  reduction.for_each_tile([&](const Tile& tile) {
    reduction.store(bag, tile, sums_of(0) + tile.first * loops.sum_bytes, count.load());
  });
}

}  // namespace

void gather_reduce(const GatherReduceArgs& args) {
  const BagLoops loops = bag_loops(args);
  const Bags bags(args);
  const std::int64_t work =
      std::max<std::int64_t>(0, bags.offset(args.bags) - bags.offset(0)) + args.bags;
  const int threads = threads_for(work, grain(args));
  bool has_long = false;
  if (threads == 1) {
    has_long = reduce_bags(args, loops, bags, 0, args.bags);
  } else {
    const std::int64_t parts = kPartsOfThread * threads;
    const std::vector<std::int64_t> begins = divided(bags, args.bags, parts);
    std::atomic<bool> found{false};
    parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
      if (reduce_bags(args, loops, bags, begins[static_cast<std::size_t>(first)],
                      begins[static_cast<std::size_t>(last)]))
        found.store(true, std::memory_order_relaxed);
    });
    has_long = found.load();
  }
  throw_if_stopped();
  for (std::int64_t bag = 0; has_long && bag < args.bags; ++bag)
    if (const Items items = bags[bag]; items.count() > kUnitItems)
      reduce_long(args, loops, bag, items);
}

Strategy gather_reduce_strategy(const GatherReduceArgs& args) {
  return {.path = args.columns.count() == 1 ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS,
          .threads = threads_for(args.count + args.bags, grain(args))};
}

}  // namespace gpukern::cpu

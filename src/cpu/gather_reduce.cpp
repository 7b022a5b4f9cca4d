// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "src/cpu/bag_reduction.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/rounding.hpp"
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

template <class Reduction>
class BagLoop {
 public:
  explicit BagLoop(const GatherReduceArgs& args) : args_(args), bags_(args) {}

  void run() const {
    const std::int64_t work =
        std::max<std::int64_t>(0, bags_.offset(args_.bags) - bags_.offset(0)) + args_.bags;
    const int threads = threads_for(work, grain(args_));
    bool has_long = false;
    if (threads == 1) {
      has_long = reduce_bags(0, args_.bags);
    } else {
      const std::int64_t parts = kPartsOfThread * threads;
      const std::vector<std::int64_t> begins = divided(bags_, args_.bags, parts);
      std::atomic<bool> found{false};
      parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
        if (reduce_bags(begins[static_cast<std::size_t>(first)],
                        begins[static_cast<std::size_t>(last)]))
          found.store(true, std::memory_order_relaxed);
      });
      has_long = found.load();
    }
    for (std::int64_t bag = 0; has_long && bag < args_.bags; ++bag)
      if (const Items items = bags_[bag]; items.count() > kUnitItems) reduce_long(bag, items);
  }

 private:
  /// Returns whether there are longer bags, which it leaves out.
  bool reduce_bags(std::int64_t begin, std::int64_t end) const {
    const DefaultFloatingPoint environment;
    Reduction reduction(args_);
    bool has_long = false;
    std::int64_t first = bags_.offset(begin);
    for (std::int64_t bag = begin; bag < end; ++bag) {
      const std::int64_t next = bags_.offset(bag + 1);
      const Items items{first, std::max(first, next)};
      first = next;
      if (items.count() > kUnitItems)
        has_long = true;
      else
        reduction.reduce_bag(bag, items);
    }
    return has_long;
  }

  /// By units of items, which threads share.
  void reduce_long(std::int64_t bag, Items items) const {
    const std::int64_t units = (items.count() - 1) / kUnitItems + 1;
    const std::int64_t columns = args_.columns.count();
    const auto memory = std::make_unique_for_overwrite<typename Reduction::Number[]>(
        static_cast<std::size_t>(units * columns));
    auto* const sums = memory.get();
    std::atomic<std::int64_t> count{0};
    const std::int64_t unit_grain = std::max<std::int64_t>(1, grain(args_) / kUnitItems);
    parallel_for(units, unit_grain, [&](std::int64_t first, std::int64_t last) {
      const DefaultFloatingPoint environment;
      Reduction reduction(args_);
      for (std::int64_t unit = first; unit < last; ++unit) {
        const std::int64_t begin = items.begin + unit * kUnitItems;
        const Items part{begin, std::min(begin + kUnitItems, items.end)};
        Reduction::for_each_tile(columns, [&](const Tile& tile) {
          const std::int64_t found =
              reduction.reduce_unit(part, tile, sums + unit * columns + tile.first);
          if (tile.first == 0) count.fetch_add(found, std::memory_order_relaxed);
        });
      }
    });
    const DefaultFloatingPoint environment;
    for (std::int64_t step = 1; step < units; step *= 2)
      for (std::int64_t unit = 0; unit + step < units; unit += 2 * step)
        Reduction::append(sums + unit * columns, sums + (unit + step) * columns, columns);
    const Reduction reduction(args_);
    Reduction::for_each_tile(columns, [&](const Tile& tile) {
      reduction.store(bag, tile, sums + tile.first, count.load());
    });
  }

  const GatherReduceArgs& args_;
  Bags bags_;
};

template <class T, gpukern_reduce reduce, bool weighted>
void run(const GatherReduceArgs& args) {
  using Reduced = typename ReducedAs<T, reduce>::Type;
  BagLoop<BagReduction<Reduced, reduce, weighted>>(args).run();
}

template <class T>
void run_for(const GatherReduceArgs& args) {
  if constexpr (!kIsComplex<T>) {
    if (args.reduce == GPUKERN_REDUCE_MIN) return run<T, GPUKERN_REDUCE_MIN, false>(args);
    if (args.reduce == GPUKERN_REDUCE_MAX) return run<T, GPUKERN_REDUCE_MAX, false>(args);
  }
  if (args.weights != nullptr) return run<T, GPUKERN_REDUCE_ADD, true>(args);
  run<T, GPUKERN_REDUCE_ADD, false>(args);
}

}  // namespace

void gather_reduce(const GatherReduceArgs& args) {
  visit_reduced_dtype(args.dtype, [&](auto tag) { run_for<typename decltype(tag)::type>(args); });
}

Strategy gather_reduce_strategy(const GatherReduceArgs& args) {
  return {.path = args.columns.count() == 1 ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS,
          .threads = threads_for(args.count + args.bags, grain(args))};
}

}  // namespace gpukern::cpu

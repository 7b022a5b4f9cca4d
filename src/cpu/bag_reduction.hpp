// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The reductions of src/core/reduce.hpp over the items of bags.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "src/cpu/bag_rows.hpp"
#include "src/cpu/elements.hpp"

namespace gpukern::cpu {

/// A reduction works on this many columns at a time, whose accumulators stay in the L1 cache.
constexpr std::int64_t kTileColumns = 256;
/// Blocks that are joined where they are combined; longer bags are divided into units of as many.
constexpr std::int64_t kUnitBlocks = 64;
constexpr std::int64_t kUnitItems = kUnitBlocks * kBlockValues;

/// Columns [first, first + count).
struct Tile {
  std::int64_t first;
  std::int64_t count;
};

/// `reduce` is GPUKERN_REDUCE_ADD for means as well.
template <class T, gpukern_reduce reduce, bool weighted>
class BagReduction {
  using A = Accumulator<T>;
  using Sums = std::array<A, kTileColumns>;

 public:
  using Number = A;

  explicit BagReduction(const GatherReduceArgs& args)
      : args_(args),
        bags_(args),
        columns_(args.columns.count()),
        contiguous_(
            args.columns.ndim == 0 ||
            (args.columns.ndim == 1 && args.columns.stride[kSourceColumn][0] == args.item)) {}

  [[nodiscard]] const Bags& bags() const { return bags_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }

  template <class Visit>
  void for_each_tile(const Visit& visit) const {
    for (std::int64_t first = 0; first < columns_; first += kTileColumns)
      visit(Tile{first, std::min(kTileColumns, columns_ - first)});
  }

  /// Writes the reduction of a bag of at most kUnitItems.
  void reduce_bag(std::int64_t bag, Items items) const {
    for_each_tile([&](const Tile& tile) {
      Sums sums;
      const std::int64_t count = reduce_unit(items, tile, sums.data());
      store(bag, tile, sums.data(), count);
    });
  }

  /// Combines at most kUnitItems and returns their number, without those that are left out.
  std::int64_t reduce_unit(Items items, const Tile& tile, A* sums) const {
    if (tile.count == 1) return reduce_column(items, tile, *sums);
    std::fill_n(sums, tile.count, identity<A>(reduce));
    if (items.count() <= kBlockValues) return add_block(items, tile, sums);
    std::array<Sums, 6> level;  // level k holds 2^k blocks
    std::uint64_t taken = 0;
    std::int64_t count = 0;
    for (std::int64_t begin = items.begin; begin < items.end; begin += kBlockValues, ++taken) {
      std::fill_n(sums, tile.count, identity<A>(reduce));
      count += add_block({begin, std::min(begin + kBlockValues, items.end)}, tile, sums);
      std::size_t k = 0;
      for (; (taken >> k & 1U) != 0; ++k) join(level[k].data(), sums, tile.count);
      if (begin + kBlockValues < items.end) std::copy_n(sums, tile.count, level[k].data());
    }
    // The last block is joined with those of equal length already.
    --taken;
    for (std::size_t k = count_trailing_ones(taken); taken >> k != 0; ++k)
      if ((taken >> k & 1U) != 0) join(level[k].data(), sums, tile.count);
    return count;
  }

  /// Combines later sums to the end of `sums`.
  static void append(A* sums, const A* later, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) sums[c] = combine(reduce, sums[c], later[c]);
  }

  /// Writes the result of `count` items.
  void store(std::int64_t bag, const Tile& tile, const A* sums, std::int64_t count) const {
    std::byte* const out = args_.out + bag * args_.out_step;
    const std::int64_t step = run_stride(args_.columns, kOutColumn);
    const auto finish = [&](const auto& offset, std::int64_t length) {
      std::byte* to = out + offset[kOutColumn];
      for (std::int64_t i = 0; i < length; ++i, to += step)
        store_as<T>(to, count > 0 ? finished<T>(args_.reduce, *sums++, count) : T{});
    };
    for_each_run(args_.columns, tile.first, tile.first + tile.count, finish);
  }

 private:
  /// Combines `sums` to the end of earlier ones, in place.
  static void join(const A* earlier, A* sums, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) sums[c] = combine(reduce, earlier[c], sums[c]);
  }
  static std::size_t count_trailing_ones(std::uint64_t bits) {
    return static_cast<std::size_t>(__builtin_ctzll(~bits));
  }

  /// The element of a row, times the row's weight.
  static A value(const std::byte* from, A weight) {
    const A number = widened(load_as<T>(from));
    if constexpr (weighted) return multiplied(number, weight);
    return number;
  }
  static A weight_of(const BagRows& rows, std::size_t k) {
    if constexpr (weighted) return widened(load_as<T>(rows.weight[k]));
    return A{};
  }

  std::int64_t add_block(Items items, const Tile& tile, A* sums) const {
    BagRows rows;
    bags_.find(items, rows);
    if (contiguous_)
      add_contiguous(rows, tile, sums);
    else
      add_strided(rows, tile, sums);
    return rows.count;
  }

  void add_contiguous(const BagRows& rows, const Tile& tile, A* sums) const {
    constexpr std::size_t kRows = 4;  // in one pass over the sums
    const std::int64_t first = tile.first * static_cast<std::int64_t>(sizeof(T));
    const auto count = static_cast<std::size_t>(rows.count);
    std::size_t k = 0;
    for (; k + kRows <= count; k += kRows) {
      const std::byte* const row[] = {rows.row[k] + first, rows.row[k + 1] + first,
                                      rows.row[k + 2] + first, rows.row[k + 3] + first};
      const A weight[] = {weight_of(rows, k), weight_of(rows, k + 1), weight_of(rows, k + 2),
                          weight_of(rows, k + 3)};
      for (std::int64_t c = 0; c < tile.count; ++c) {
        A sum = sums[c];
        for (std::size_t r = 0; r < kRows; ++r)
          sum = combine(reduce, sum, value(row[r] + c * sizeof(T), weight[r]));
        sums[c] = sum;
      }
    }
    for (; k < count; ++k) {
      const std::byte* const row = rows.row[k] + first;
      const A weight = weight_of(rows, k);
      for (std::int64_t c = 0; c < tile.count; ++c)
        sums[c] = combine(reduce, sums[c], value(row + c * sizeof(T), weight));
    }
  }

  void add_strided(const BagRows& rows, const Tile& tile, A* sums) const {
    const std::int64_t step = run_stride(args_.columns, kSourceColumn);
    for (std::size_t k = 0; k < static_cast<std::size_t>(rows.count); ++k) {
      const A weight = weight_of(rows, k);
      A* sum = sums;
      const auto add = [&](const auto& offset, std::int64_t length) {
        const std::byte* from = rows.row[k] + offset[kSourceColumn];
        for (std::int64_t i = 0; i < length; ++i, ++sum, from += step)
          *sum = combine(reduce, *sum, value(from, weight));
      };
      for_each_run(args_.columns, tile.first, tile.first + tile.count, add);
    }
  }

  // ---- one column: kChains blocks at a time, since each is a chain of dependent additions ----

  static constexpr std::size_t kChains = 4;

  std::int64_t reduce_column(Items items, const Tile& tile, A& sum) const {
    std::array<A, kUnitBlocks> sums;
    std::array<BagRows, kChains> rows;
    const std::int64_t column = column_offset(tile.first);
    std::int64_t count = 0;
    std::size_t blocks = 0;
    for (std::int64_t begin = items.begin; begin < items.end || blocks == 0;) {
      std::size_t chains = 0;
      for (; chains < kChains && (begin < items.end || chains == 0); ++chains) {
        const std::int64_t end = std::min(begin + kBlockValues, items.end);
        bags_.find({begin, end}, rows[chains]);
        count += rows[chains].count;
        begin = std::max(begin + 1, end);
      }
      add_chains(rows, chains, column, &sums[blocks]);
      blocks += chains;
    }
    for (std::size_t step = 1; step < blocks; step *= 2)
      for (std::size_t b = 0; b + step < blocks; b += 2 * step)
        sums[b] = combine(reduce, sums[b], sums[b + step]);
    sum = sums[0];
    return count;
  }

  static void add_chains(const std::array<BagRows, kChains>& rows, std::size_t chains,
                         std::int64_t column, A* to) {
    std::array<A, kChains> sum;
    sum.fill(identity<A>(reduce));
    const auto add = [&](std::size_t chain, std::size_t k) {
      sum[chain] = combine(reduce, sum[chain],
                           value(rows[chain].row[k] + column, weight_of(rows[chain], k)));
    };
    std::size_t together = 0;  // values that all chains have
    if (chains == kChains) {
      std::int64_t least = kBlockValues;
      for (const BagRows& of : rows) least = std::min(least, of.count);
      together = static_cast<std::size_t>(least);
    }
    for (std::size_t k = 0; k < together; ++k)
      for (std::size_t chain = 0; chain < kChains; ++chain) add(chain, k);
    for (std::size_t chain = 0; chain < chains; ++chain) {
      for (auto k = together; k < static_cast<std::size_t>(rows[chain].count); ++k) add(chain, k);
      to[chain] = sum[chain];
    }
  }

  [[nodiscard]] std::int64_t column_offset(std::int64_t column) const {
    std::int64_t offset = 0;
    for_each_run(args_.columns, column, column + 1,
                 [&](const auto& at, std::int64_t) { offset = at[kSourceColumn]; });
    return offset;
  }

  const GatherReduceArgs& args_;
  Bags bags_;
  std::int64_t columns_;
  bool contiguous_;
};

}  // namespace gpukern::cpu

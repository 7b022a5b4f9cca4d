// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The reductions of src/core/reduce.hpp over the items of bags.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/cpu/bag_rows.hpp"

namespace gpukern::cpu {

/// A reduction works on this many columns at a time, whose sums stay in the L1 cache.
constexpr std::int64_t kTileColumns = 256;
/// Blocks that are joined where they are combined; longer bags are divided into units of as many.
constexpr std::int64_t kUnitBlocks = 64;
constexpr std::int64_t kUnitItems = kUnitBlocks * kBlockValues;

/// Columns [first, first + count).
struct Tile {
  std::int64_t first;
  std::int64_t count;
};

/// For one thread. `reduce` is GPUKERN_REDUCE_ADD for means as well.
template <class T, gpukern_reduce reduce, bool weighted>
class BagReduction {
  using A = Accumulator<T>;
  using Sums = std::array<A, kTileColumns>;

 public:
  using Number = A;

  explicit BagReduction(const GatherReduceArgs& args)
      : args_(args),
        columns_(args.columns.count()),
        step_(run_stride(args.columns, kSourceColumn)),
        contiguous_(is_contiguous(args, kSourceColumn)),
        contiguous_out_(is_contiguous(args, kOutColumn)),
        window_(args, contiguous_ ? columns_ * args.item : args.item) {}

  template <class Visit>
  static void for_each_tile(std::int64_t columns, const Visit& visit) {
    for (std::int64_t first = 0; first < columns; first += kTileColumns)
      visit(Tile{first, std::min(kTileColumns, columns - first)});
  }

  /// Writes the reduction of a bag of at most kUnitItems.
  void reduce_bag(std::int64_t bag, Items items) {
    if (columns_ == 1) {
      A sum;
      const std::int64_t count = reduce_column(items, sum);
      return store_as<T>(args_.out + bag * args_.out_step, result(sum, count));
    }
    for_each_tile(columns_, [&](const Tile& tile) {
      Sums sums;
      const std::int64_t count = reduce_unit(items, tile, sums.data());
      store(bag, tile, sums.data(), count);
    });
  }

  /// Combines at most kUnitItems and returns their number, without those that are left out.
  std::int64_t reduce_unit(Items items, const Tile& tile, A* sums) {
    if (columns_ == 1) return reduce_column(items, *sums);
    if (items.count() <= kBlockValues) return combine_block(items, tile, sums);
    std::array<Sums, 6> level;  // level k holds 2^k blocks
    std::uint64_t taken = 0;
    std::int64_t count = 0;
    for (std::int64_t begin = items.begin; begin < items.end; begin += kBlockValues, ++taken) {
      count += combine_block({begin, std::min(begin + kBlockValues, items.end)}, tile, sums);
      std::size_t k = 0;
      for (; (taken >> k & 1U) != 0; ++k) join(level[k].data(), sums, tile.count);
      if (begin + kBlockValues < items.end) std::copy_n(sums, tile.count, level[k].data());
    }
    // The last block is joined with those of equal length already.
    --taken;
    for (auto k = static_cast<std::size_t>(__builtin_ctzll(~taken)); taken >> k != 0; ++k)
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
    if (contiguous_out_) {
      std::byte* const to = out + tile.first * static_cast<std::int64_t>(sizeof(T));
      if (count == 0)
        std::memset(to, 0, static_cast<std::size_t>(tile.count) * sizeof(T));
      else if (args_.reduce == GPUKERN_REDUCE_MEAN)
        store_contiguous<GPUKERN_REDUCE_MEAN>(to, sums, tile.count, count);
      else
        store_contiguous<reduce>(to, sums, tile.count, count);
      return;
    }
    const std::int64_t step = run_stride(args_.columns, kOutColumn);
    const auto finish = [&](const auto& offset, std::int64_t length) {
      std::byte* to = out + offset[kOutColumn];
      for (std::int64_t i = 0; i < length; ++i, to += step) store_as<T>(to, result(*sums++, count));
    };
    for_each_run(args_.columns, tile.first, tile.first + tile.count, finish);
  }

 private:
  static bool is_contiguous(const GatherReduceArgs& args, int operand) {
    return args.columns.ndim == 0 ||
           (args.columns.ndim == 1 && args.columns.stride[operand][0] == args.item);
  }

  template <gpukern_reduce kFinal>
  static void store_contiguous(std::byte* to, const A* sums, std::int64_t columns,
                               std::int64_t count) {
    for (std::int64_t c = 0; c < columns; ++c)
      store_as<T>(to + c * static_cast<std::int64_t>(sizeof(T)),
                  finished<T>(kFinal, sums[c], count));
  }

  [[nodiscard]] T result(A sum, std::int64_t count) const {
    return count > 0 ? finished<T>(args_.reduce, sum, count) : T{};
  }

  /// Combines `sums` to the end of earlier ones, in place.
  static void join(const A* earlier, A* sums, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) sums[c] = combine(reduce, earlier[c], sums[c]);
  }

  /// The element at an address, times the weight of item k.
  static A value(const std::byte* from, const A* weight, std::int64_t k) {
    const A number = widened(load_as<T>(from));
    if constexpr (weighted) return multiplied(number, weight[k]);
    return number;
  }

  // Not inlined, so that its loops have the registers for themselves.
  [[gnu::noinline]] std::int64_t combine_block(Items items, const Tile& tile, A* sums) {
    const BlockRows<A> rows = window_.rows(items);
    if (contiguous_)
      combine_contiguous(rows, tile, sums);
    else
      combine_strided(rows, tile, sums);
    return rows.count;
  }

  /// Neighbouring columns. Unrolled, so that the compiler keeps the sums in vector registers.
  template <std::int64_t kCount>
  static void combine_columns(const BlockRows<A>& rows, std::int64_t offset, A* sums) {
    A sum[kCount];
#pragma GCC unroll 32
    for (std::int64_t c = 0; c < kCount; ++c) sum[c] = identity<A>(reduce);
    for (std::int64_t k = 0; k < rows.count; ++k) {
      const std::byte* const row = rows.row[k] + offset;
#pragma GCC unroll 32
      for (std::int64_t c = 0; c < kCount; ++c)
        sum[c] = combine(reduce, sum[c],
                         value(row + c * static_cast<std::int64_t>(sizeof(T)), rows.weight, k));
    }
#pragma GCC unroll 32
    for (std::int64_t c = 0; c < kCount; ++c) sums[c] = sum[c];
  }

  static void combine_contiguous(const BlockRows<A>& rows, const Tile& tile, A* sums) {
    constexpr std::int64_t kWide = 128 / sizeof(A);  // as the vector registers of SSE2 hold
    constexpr std::int64_t kNarrow = kWide / 4;
    std::int64_t c = 0;
    const auto offset = [&] { return (tile.first + c) * static_cast<std::int64_t>(sizeof(T)); };
    for (; c + kWide <= tile.count; c += kWide) combine_columns<kWide>(rows, offset(), sums + c);
    for (; c + kNarrow <= tile.count; c += kNarrow)
      combine_columns<kNarrow>(rows, offset(), sums + c);
    for (; c < tile.count; ++c) combine_columns<1>(rows, offset(), sums + c);
  }

  void combine_strided(const BlockRows<A>& rows, const Tile& tile, A* sums) const {
    std::fill_n(sums, tile.count, identity<A>(reduce));
    for (std::int64_t k = 0; k < rows.count; ++k) {
      A* sum = sums;
      const auto add = [&](const auto& offset, std::int64_t length) {
        const std::byte* from = rows.row[k] + offset[kSourceColumn];
        for (std::int64_t i = 0; i < length; ++i, ++sum, from += step_)
          *sum = combine(reduce, *sum, value(from, rows.weight, k));
      };
      for_each_run(args_.columns, tile.first, tile.first + tile.count, add);
    }
  }

  // ---- one column: kChains blocks at a time, since each is a chain of dependent additions ----

  static constexpr std::int64_t kChains = 8;

  // Not inlined, as combine_block().
  [[gnu::noinline]] std::int64_t reduce_column(Items items, A& sum) {
    const bool direct = args_.index == nullptr && args_.axis.ndim <= 1;
    if (items.count() <= kBlockValues)
      return direct ? direct_block(items, sum) : block_of_rows(items, sum);
    std::array<A, kUnitBlocks> sums;
    std::int64_t count = 0;
    std::size_t blocks = 0;
    for (std::int64_t begin = items.begin; begin < items.end;) {
      if (direct && begin + kChains * kBlockValues <= items.end) {
        direct_blocks(begin, &sums[blocks]);
        blocks += kChains;
        count += kChains * kBlockValues;
        begin += kChains * kBlockValues;
        continue;
      }
      const Items block{begin, std::min(begin + kBlockValues, items.end)};
      A& to = sums[blocks++];
      count += direct ? direct_block(block, to) : block_of_rows(block, to);
      begin = block.end;
    }
    for (std::size_t step = 1; step < blocks; step *= 2)
      for (std::size_t b = 0; b + step < blocks; b += 2 * step)
        sums[b] = combine(reduce, sums[b], sums[b + step]);
    sum = sums[0];
    return count;
  }

  std::int64_t block_of_rows(Items items, A& to) {
    const BlockRows<A> rows = window_.rows(items);
    A sum = identity<A>(reduce);
    for (std::int64_t k = 0; k < rows.count; ++k)
      sum = combine(reduce, sum, value(rows.row[k], rows.weight, k));
    to = sum;
    return rows.count;
  }

  /// Items at equal distances, without weights.
  std::int64_t direct_block(Items items, A& to) const {
    const std::int64_t step = run_stride(args_.axis, 0);
    const std::byte* from = args_.source + items.begin * step;
    A sum = identity<A>(reduce);
    for (std::int64_t k = 0; k < items.count(); ++k, from += step)
      sum = combine(reduce, sum, widened(load_as<T>(from)));
    to = sum;
    return items.count();
  }

  void direct_blocks(std::int64_t begin, A* to) const {
    const std::int64_t step = run_stride(args_.axis, 0);
    const std::byte* from = args_.source + begin * step;
    A sum[kChains];
    for (A& each : sum) each = identity<A>(reduce);
    for (std::int64_t k = 0; k < kBlockValues; ++k, from += step)
      for (std::int64_t chain = 0; chain < kChains; ++chain)
        sum[chain] =
            combine(reduce, sum[chain], widened(load_as<T>(from + chain * kBlockValues * step)));
    std::copy_n(sum, kChains, to);
  }

  const GatherReduceArgs& args_;
  std::int64_t columns_;
  std::int64_t step_;
  bool contiguous_;
  bool contiguous_out_;
  RowWindow<T, weighted> window_;
};

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/scatter_tables.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "src/cpu/cache.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// Of a key that no update has.
constexpr std::int64_t kNoValue = std::numeric_limits<std::int64_t>::min();

/// Bytes of a table for each key: a row of results, or the offset of the last value.
std::int64_t entry_bytes(const ScatterArgs& args) {
  return args.reduce == GPUKERN_REDUCE_NONE ? static_cast<std::int64_t>(sizeof(std::int64_t))
                                            : args.row_bytes();
}

/// Calls fill(table, blocks) for each table on some thread, where blocks(visit) calls
/// visit(updates) for the updates of the table, in order.
template <class Fill>
void fill_tables(const ScatterArgs& args, std::int64_t tables, const Fill& fill) {
  const std::int64_t count = args.updates.count();
  parallel_pieces(tables, [&](std::int64_t table) {
    const std::int64_t begin = begin_of_part(count, tables, table);
    const std::int64_t end = begin_of_part(count, tables, table + 1);
    fill(table, [&](const auto& visit) { for_each_block(args, begin, end, visit); });
  });
}

/// Collects updates and applies them by blocks, in order.
class UpdateBlock {
 public:
  UpdateBlock(const ScatterArgs& args, const TableCombiner& combiner)
      : args_(args), combiner_(combiner) {}

  void push(const Update& update) {
    updates_[static_cast<std::size_t>(count_++)] = update;
    if (count_ == static_cast<std::int64_t>(updates_.size())) apply();
  }
  void apply() {
    combiner_.in_place(args_, {updates_.data(), count_});
    count_ = 0;
  }

 private:
  const ScatterArgs& args_;
  const TableCombiner& combiner_;
  std::array<Update, 512> updates_;
  std::int64_t count_ = 0;
};

/// Shares the keys among threads, with a number of keys that justifies one: visit(key, block)
/// pushes the updates of the key.
template <class Visit>
void join_tables(const ScatterArgs& args, const TableCombiner& combiner, std::int64_t tables,
                 const Visit& visit) {
  const std::int64_t grain = grain_of(tables * entry_bytes(args));
  parallel_for(args.keys.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    UpdateBlock block(args, combiner);
    for (std::int64_t key = begin; key < end; ++key) visit(key, block);
    block.apply();
  });
}

/// The tables have the last value of each key among a part of the updates.
void put_by_tables(const ScatterArgs& args, const TableCombiner& combiner, std::int64_t tables) {
  const std::int64_t keys = args.keys.count();
  const auto last =
      std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(tables * keys));
  fill_tables(args, tables, [&](std::int64_t number, const auto& blocks) {
    std::int64_t* const table = last.get() + number * keys;
    std::fill_n(table, keys, kNoValue);
    blocks([table](const Updates& updates) {
      visit_updates(updates, [&](const auto key, const auto value) {
        for (std::int64_t u = 0; u < updates.count; ++u) table[key(u)] = value(u);
      });
    });
  });
  join_tables(args, combiner, tables, [&](std::int64_t key, UpdateBlock& block) {
    std::int64_t table = tables - 1;
    while (table >= 0 && last[static_cast<std::size_t>(table * keys + key)] == kNoValue) --table;
    if (table >= 0) block.push({key, last[static_cast<std::size_t>(table * keys + key)]});
  });
}

/// Sets the strides of an operand of the columns to those of contiguous rows.
void make_contiguous(ScatterArgs& args, int operand) {
  std::int64_t stride = args.item;
  for (int d = args.columns.ndim - 1; d >= 0; --d) {
    args.columns.stride[operand][d] = stride;
    stride *= args.columns.extent[d];
  }
}

/// The tables are targets, each for a part of the updates, whose rows are then the values.
void reduce_by_tables(const ScatterArgs& args, const TableCombiner& combiner, std::int64_t tables) {
  const std::int64_t row = args.row_bytes();
  const std::int64_t table_bytes = args.keys.count() * row;
  const auto memory =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(tables * table_bytes));
  fill_tables(args, tables, [&](std::int64_t number, const auto& blocks) {
    ScatterArgs part = args;
    part.target = memory.get() + number * table_bytes;
    part.keys = {};
    part.keys.push(args.keys.count(), {row});
    make_contiguous(part, kTargetColumn);
    for (std::int64_t at = 0; at < table_bytes; at += args.item)
      combiner.write_identity(part.target + at);
    blocks([&](const Updates& updates) { combiner.in_place(part, updates); });
  });
  ScatterArgs joined = args;
  joined.values = memory.get();
  make_contiguous(joined, kValueColumn);
  join_tables(joined, combiner, tables, [&](std::int64_t key, UpdateBlock& block) {
    for (std::int64_t table = 0; table < tables; ++table)
      block.push({key, table * table_bytes + key * row});
  });
}

}  // namespace

std::int64_t tables_for(const ScatterArgs& args, int threads) {
  constexpr std::int64_t kTablesPerThread = 4;  // a late thread leaves some to others
  constexpr std::int64_t kUpdatesPerEntry = 16;
  const std::int64_t keys = args.keys.count();
  if (threads == 1 || keys > core_cache_bytes() / 2 / entry_bytes(args)) return 0;
  const std::int64_t tables =
      std::min(args.updates.count() / keys / kUpdatesPerEntry, kTablesPerThread * threads);
  return tables < threads ? 0 : tables;
}

void scatter_by_tables(const ScatterArgs& args, const TableCombiner& combiner,
                       std::int64_t tables) {
  if (combiner.write_identity == nullptr) return put_by_tables(args, combiner, tables);
  reduce_by_tables(args, combiner, tables);
}

}  // namespace gpukern::cpu

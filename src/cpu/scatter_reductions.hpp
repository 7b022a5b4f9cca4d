// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The reductions of src/core/reduce.hpp over updates in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/cpu/cache.hpp"
#include "src/cpu/elements.hpp"
#include "src/cpu/scatter_updates.hpp"

namespace gpukern::cpu {

/// Calls visit(target offset, value offset) for every column.
template <class Visit>
void for_each_column(const Loop<2>& columns, const Visit& visit) {
  if (columns.ndim == 0) return visit(0, 0);
  const std::int64_t target_step = run_stride(columns, kTargetColumn);
  const std::int64_t value_step = run_stride(columns, kValueColumn);
  const auto visit_run = [&](const ColumnOffsets& offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i)
      visit(offset[kTargetColumn] + i * target_step, offset[kValueColumn] + i * value_step);
  };
  for_each_column_run(columns, ColumnRunVisitor(visit_run));
}

struct FetchNothing {
  void operator()(std::int64_t /*key*/) const {}
};

/// Calls body(key, target, value) for updates in order. Where the target is larger than a core's
/// cache, its elements are fetched before, and fetch(key) fetches what else the body accesses. The
/// loop's invariants are in local variables: stores of bytes could change any others.
template <class Body, class Fetch = FetchNothing>
void for_each_update(const ScatterArgs& args, const Updates& updates, const Body& body,
                     const Fetch& fetch = {}) {
  constexpr std::int64_t kFetched = 256;  // longer blocks delay what the body itself waits for
  std::byte* const target = args.target;
  const std::byte* const values = args.values;
  const std::int64_t count = updates.count;
  if (args.keys.ndim > 1) {
    for (std::int64_t u = 0; u < count; ++u) {
      const Update update = updates.at(u);
      body(update.key, target + offset_of(args.keys, update.key), values + update.value);
    }
    return;
  }
  const std::int64_t step = run_stride(args.keys, 0);
  const std::int64_t bytes = std::max<std::int64_t>(1, std::abs(step));
  const bool is_far = args.keys.count() > core_cache_bytes() / bytes;
  visit_updates(updates, [&](const auto key, const auto value) {
    for (std::int64_t at = 0; at < count; at += kFetched) {
      const std::int64_t end = std::min(at + kFetched, count);
      for (std::int64_t u = at; is_far && u < end; ++u) {
        __builtin_prefetch(target + key(u) * step, 1);
        fetch(key(u));
      }
      for (std::int64_t u = at; u < end; ++u)
        body(key(u), target + key(u) * step, values + value(u));
    }
  });
}

/// Joins the full blocks of an element: level k holds the combination of 2^k of them, or nothing.
template <class A, gpukern_reduce reduce>
class BlockTree {
 public:
  void push(std::vector<A> row) {
    std::size_t level = 0;
    for (; level < levels_.size() && !levels_[level].empty(); ++level) {
      join(levels_[level], row);
      row = std::exchange(levels_[level], {});
    }
    if (level == levels_.size()) levels_.emplace_back();
    levels_[level] = std::move(row);
  }
  /// Joins all with the last block.
  std::vector<A> close(std::vector<A> last) {
    push(std::move(last));
    std::vector<A> all;
    for (std::vector<A>& level : levels_) {
      if (level.empty()) continue;
      if (!all.empty()) join(level, all);
      all = std::move(level);
    }
    return all;
  }

 private:
  /// Combines `later` to the end of `earlier`.
  static void join(std::vector<A>& earlier, const std::vector<A>& later) {
    for (std::size_t c = 0; c < earlier.size(); ++c)
      earlier[c] = combine(reduce, earlier[c], later[c]);
  }
  std::vector<std::vector<A>> levels_;
};

/// Combines a value with an element of the target; `count` values make up the result.
template <class T, gpukern_reduce reduce>
void combine_element(std::byte* target, const std::byte* value, std::int64_t count) {
  const auto sum = combine(reduce, widened(load_as<T>(target)), widened(load_as<T>(value)));
  store_as<T>(target, finished<T>(reduce, sum, count));
}

/// The columns of one row of the target or of the values.
template <class T, gpukern_reduce reduce>
class Row {
  using A = Accumulator<T>;

 public:
  explicit Row(const ScatterArgs& args) : args_(args), contiguous_(contiguous_bytes(args)) {}

  [[nodiscard]] std::byte* target(std::int64_t key) const {
    return args_.target + offset_of(args_.keys, key);
  }
  [[nodiscard]] std::vector<A> load(const std::byte* target) const {
    std::vector<A> row;
    row.reserve(static_cast<std::size_t>(args_.columns.count()));
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
      row.push_back(widened(load_as<T>(target + to)));
    });
    return row;
  }
  void store(std::byte* target, const A* row, std::int64_t values) const {
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
      store_as<T>(target + to, finished<T>(reduce, *row++, values));
    });
  }
  /// As combine_element(), for all columns.
  void combine_in_place(std::byte* target, const std::byte* value, std::int64_t count) const {
    if (contiguous_ > 0) {  // vectorized
      for (std::int64_t at = 0; at < contiguous_; at += std::int64_t{sizeof(T)})
        combine_element<T, reduce>(target + at, value + at, count);
      return;
    }
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t from) {
      combine_element<T, reduce>(target + to, value + from, count);
    });
  }

 private:
  /// The bytes of a row if it is contiguous in the target and in the values, else 0.
  static std::int64_t contiguous_bytes(const ScatterArgs& args) {
    const Loop<2>& columns = args.columns;
    constexpr std::int64_t kItem = sizeof(T);
    const bool is_contiguous = columns.ndim == 1 && run_stride(columns, kTargetColumn) == kItem &&
                               run_stride(columns, kValueColumn) == kItem;
    return is_contiguous ? columns.count() * kItem : 0;
  }

  const ScatterArgs& args_;
  std::int64_t contiguous_;
};

/// Reduces in the target itself, of which the current block of each element takes the place. For
/// types that are their own accumulator, and keys in [first, first + range).
template <class T, gpukern_reduce reduce>
class CountedReduction {
 public:
  CountedReduction(const ScatterArgs& args, std::int64_t first, std::int64_t range)
      : args_(args), row_(args), first_(first), values_(static_cast<std::size_t>(range)) {}

  void add(const Updates& updates) {
    std::uint8_t* const values = values_.data();
    const std::int64_t first = first_;
    const bool is_single = args_.columns.ndim == 0;
    for_each_update(
        args_, updates,
        [&, values, first, is_single](std::int64_t key, std::byte* target, const std::byte* value) {
          if (values[key - first]++ == kBlockValues - 1)
            start_block(key, target, value);
          else if (is_single)
            combine_element<T, reduce>(target, value, 1);
          else
            row_.combine_in_place(target, value, 1);
        },
        [values, first](std::int64_t key) { __builtin_prefetch(values + (key - first), 1); });
  }

  void finish() {
    for (auto& [key, tree] : trees_) {
      std::byte* const target = row_.target(key);
      row_.store(target, tree.close(row_.load(target)).data(), 1);
    }
  }

 private:
  void start_block(std::int64_t key, std::byte* target, const std::byte* value) {
    trees_[key].push(row_.load(target));
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t from) {
      store_as<T>(target + to, load_as<T>(value + from));
    });
  }

  const ScatterArgs& args_;
  Row<T, reduce> row_;
  std::int64_t first_;
  std::vector<std::uint8_t> values_;  ///< in the current block, less one, modulo kBlockValues
  std::unordered_map<std::int64_t, BlockTree<T, reduce>> trees_;
};

/// Reduces in accumulators, which are written to the target at the end.
template <class T, gpukern_reduce reduce>
class BlockedReduction {
  using A = Accumulator<T>;

 public:
  /// For keys in [first, first + range) if `dense`, else for any `range` different keys.
  BlockedReduction(const ScatterArgs& args, std::int64_t first, std::int64_t range, bool dense)
      : args_(args),
        row_(args),
        columns_(static_cast<std::size_t>(args.columns.count())),
        first_(first),
        dense_(dense),
        values_(static_cast<std::size_t>(range)),
        rows_(std::make_unique_for_overwrite<A[]>(static_cast<std::size_t>(range) * columns_)) {}

  void add(const Updates& updates) {
    const bool is_single = columns_ == 1;
    for_each_update(
        args_, updates,
        [&, is_single](std::int64_t key, std::byte* /*target*/, const std::byte* value) {
          const std::size_t element = this->element(key);
          A* row = rows_.get() + element * columns_;
          // The element itself is the first value.
          if (values_[element]++ % kBlockValues == 0) return start_block(element, key, value);
          if (is_single) {
            *row = combine(reduce, *row, widened(load_as<T>(value)));
            return;
          }
          for_each_column(args_.columns, [&](std::int64_t, std::int64_t from) {
            *row = combine(reduce, *row, widened(load_as<T>(value + from)));
            ++row;
          });
        },
        [&](std::int64_t key) {
          if (!dense_) return;
          const std::size_t element = this->element(key);
          __builtin_prefetch(&values_[element], 1);
          __builtin_prefetch(rows_.get() + element * columns_, 1);
        });
  }

  /// Writes the elements.
  void finish() {
    constexpr std::size_t kPart = std::size_t{1} << 16;
    for (std::size_t element = 0; element < values_.size(); ++element) {
      if (element % kPart == 0 && is_stopped()) return;
      if (values_[element] == 0) continue;
      const A* const row = rows_.get() + element * columns_;
      std::byte* const target =
          row_.target(dense_ ? first_ + static_cast<std::int64_t>(element) : keys_[element]);
      if (const auto tree = trees_.find(element); tree != trees_.end())
        row_.store(target, tree->second.close({row, row + columns_}).data(), values_[element]);
      else
        row_.store(target, row, values_[element]);
    }
  }

 private:
  /// The first block begins with the element itself, others replace a full one.
  void start_block(std::size_t element, std::int64_t key, const std::byte* value) {
    A* row = rows_.get() + element * columns_;
    const bool is_first = values_[element] == 1;
    if (is_first)
      ++values_[element];
    else
      trees_[element].push({row, row + columns_});
    const std::byte* const own = row_.target(key);
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t from) {
      const A number = widened(load_as<T>(value + from));
      *row++ = is_first ? combine(reduce, widened(load_as<T>(own + to)), number) : number;
    });
  }

  std::size_t element(std::int64_t key) {
    if (dense_) return static_cast<std::size_t>(key - first_);
    const auto [found, is_new] = element_of_key_.try_emplace(key, keys_.size());
    if (is_new) keys_.push_back(key);
    return found->second;
  }

  const ScatterArgs& args_;
  Row<T, reduce> row_;
  std::size_t columns_;
  std::int64_t first_;
  bool dense_;
  std::unordered_map<std::int64_t, std::size_t> element_of_key_;  ///< unless dense
  std::vector<std::int64_t> keys_;                                ///< likewise
  std::vector<std::int64_t> values_;                              ///< of each element, with its own
  std::unique_ptr<A[]> rows_;                                     ///< the current blocks
  std::unordered_map<std::size_t, BlockTree<A, reduce>> trees_;
};

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The reduction in blocks of src/core/reduce.hpp, for the elements that a list of updates refers
// to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/cpu/scatter_updates.hpp"

namespace gpukern::cpu {

/// Loads an element at any address.
template <class T>
T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void store_as(std::byte* to, const T& value) {
  std::memcpy(to, &value, sizeof(T));
}

/// Calls visit(target offset, value offset) for every column.
template <class Visit>
void for_each_column(const Loop<2>& columns, const Visit& visit) {
  if (columns.ndim == 0) return visit(0, 0);
  const std::int64_t target_step = run_stride(columns, kTargetColumn);
  const std::int64_t value_step = run_stride(columns, kValueColumn);
  for_each_run(columns, 0, columns.count(), [&](const auto& offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i)
      visit(offset[kTargetColumn] + i * target_step, offset[kValueColumn] + i * value_step);
  });
}

template <class T, gpukern_reduce reduce>
class BlockedReduction {
  using A = Accumulator<T>;

 public:
  /// For updates whose elements add() is called for.
  BlockedReduction(const ScatterArgs& args, const Updates& updates)
      : args_(args), columns_(static_cast<std::size_t>(args.columns.count())) {
    if (updates.count == 0) return;
    const auto [least, most] = std::minmax_element(
        updates.first, updates.first + updates.count,
        [](const Update& one, const Update& other) { return one.key < other.key; });
    first_key_ = least->key;
    const std::int64_t range = most->key - least->key + 1;
    dense_ = range <= 4 * updates.count;
    const auto elements = static_cast<std::size_t>(dense_ ? range : updates.count);
    values_.resize(elements);
    rows_ = std::make_unique_for_overwrite<A[]>(elements * columns_);
  }

  void add(const Update& update) {
    const std::size_t element = this->element(update.key);
    A* const row = rows_.get() + element * columns_;
    const std::byte* const value = args_.values + update.value;
    // The element itself is the first value.
    if (values_[element]++ % kBlockValues != 0)
      for_each_value(value,
                     [&](std::size_t c, A number) { row[c] = combine(reduce, row[c], number); });
    else
      start_block(element, update.key, value);
  }

  /// Writes the elements.
  void finish() {
    for (std::size_t element = 0; element < values_.size(); ++element) {
      if (values_[element] == 0) continue;
      A* const row = rows_.get() + element * columns_;
      if (const auto tree = trees_.find(element); tree != trees_.end())
        tree->second.close(row, columns_);
      const std::int64_t key =
          dense_ ? first_key_ + static_cast<std::int64_t>(element) : keys_[element];
      std::byte* const target = args_.target + offset_of(args_.keys, key);
      std::size_t c = 0;
      for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
        store_as<T>(target + to, finished<T>(reduce, row[c++], values_[element]));
      });
    }
  }

 private:
  /// Joins blocks: level k holds the combination of 2^k of them, or nothing.
  class Tree {
   public:
    void push(const A* block, std::size_t columns) {
      std::vector<A> row(block, block + columns);
      std::size_t level = 0;
      for (; level < levels_.size() && !levels_[level].empty(); ++level) {
        join(levels_[level], row.data());
        row = std::exchange(levels_[level], {});
      }
      if (level == levels_.size()) levels_.emplace_back();
      levels_[level] = std::move(row);
    }
    /// Joins all with the last block, to `block`.
    void close(A* block, std::size_t columns) {
      push(block, columns);
      std::vector<A> all;
      for (std::vector<A>& level : levels_) {
        if (level.empty()) continue;
        if (!all.empty()) join(level, all.data());
        all = std::move(level);
      }
      std::copy(all.begin(), all.end(), block);
    }

   private:
    /// Combines `later` to the end of `earlier`.
    static void join(std::vector<A>& earlier, const A* later) {
      for (std::size_t c = 0; c < earlier.size(); ++c)
        earlier[c] = combine(reduce, earlier[c], later[c]);
    }
    std::vector<std::vector<A>> levels_;
  };

  template <class Visit>
  void for_each_value(const std::byte* value, const Visit& visit) const {
    std::size_t c = 0;
    for_each_column(args_.columns, [&](std::int64_t, std::int64_t from) {
      visit(c++, widened(load_as<T>(value + from)));
    });
  }

  /// The first block begins with the element itself, others replace a full one.
  void start_block(std::size_t element, std::int64_t key, const std::byte* value) {
    A* const row = rows_.get() + element * columns_;
    if (values_[element] > 1) {
      trees_[element].push(row, columns_);
      return for_each_value(value, [&](std::size_t c, A number) { row[c] = number; });
    }
    const std::byte* const own = args_.target + offset_of(args_.keys, key);
    std::size_t c = 0;
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t from) {
      row[c++] = combine(reduce, widened(load_as<T>(own + to)), widened(load_as<T>(value + from)));
    });
    ++values_[element];
  }

  std::size_t element(std::int64_t key) {
    if (dense_) return static_cast<std::size_t>(key - first_key_);
    const auto [found, is_new] = element_of_key_.try_emplace(key, keys_.size());
    if (is_new) keys_.push_back(key);
    return found->second;
  }

  const ScatterArgs& args_;
  std::size_t columns_;
  std::int64_t first_key_ = 0;
  bool dense_ = true;
  std::unordered_map<std::int64_t, std::size_t> element_of_key_;  ///< unless dense
  std::vector<std::int64_t> keys_;                                ///< likewise
  std::vector<std::int64_t> values_;                              ///< of each element, with its own
  std::unique_ptr<A[]> rows_;                                     ///< the current blocks
  std::unordered_map<std::size_t, Tree> trees_;
};

}  // namespace gpukern::cpu

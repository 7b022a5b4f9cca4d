// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The reduction in blocks of src/core/reduce.hpp, for the elements that a list of updates refers
// to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
  BlockedReduction(const ScatterArgs& args, const Updates& updates)
      : args_(args), columns_(static_cast<std::size_t>(args.columns.count())) {
    if (updates.count == 0) return;
    const auto [least, most] = std::minmax_element(
        updates.first, updates.first + updates.count,
        [](const Update& one, const Update& other) { return one.key < other.key; });
    first_key_ = least->key;
    const std::int64_t range = most->key - least->key + 1;
    dense_ = range <= 4 * updates.count;
    if (dense_) slot_of_key_.resize(static_cast<std::size_t>(range));
  }

  void add(const Update& update) {
    Element& element = this->element(update.key);
    A* const row = rows_.data() + element.row * columns_;
    const std::byte* value = args_.values + update.value;
    // The element itself is the first value.
    if (++element.values % kBlockValues == 0) {
      trees_[element.row].push(row, columns_);
      for_each_value(value, [&](std::size_t c, A number) { row[c] = number; });
    } else {
      for_each_value(value,
                     [&](std::size_t c, A number) { row[c] = combine(reduce, row[c], number); });
    }
  }

  /// Writes the elements.
  void finish() {
    for (const Element& element : elements_) {
      A* const row = rows_.data() + element.row * columns_;
      if (const auto tree = trees_.find(element.row); tree != trees_.end())
        tree->second.close(row, columns_);
      std::byte* const target = args_.target + offset_of(args_.keys, element.key);
      std::size_t c = 0;
      for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
        store_as<T>(target + to, finished<T>(reduce, row[c++], element.values + 1));
      });
    }
  }

 private:
  struct Element {
    std::int64_t key;
    std::size_t row;
    std::int64_t values;  ///< besides the element itself
  };

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

  Element& element(std::int64_t key) {
    std::size_t& slot = dense_ ? slot_of_key_[static_cast<std::size_t>(key - first_key_)]
                               : slot_of_sparse_key_[key];
    if (slot != 0) return elements_[slot - 1];
    const std::size_t row = elements_.size();
    elements_.push_back({key, row, 0});
    slot = elements_.size();
    const std::byte* const target = args_.target + offset_of(args_.keys, key);
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
      rows_.push_back(widened(load_as<T>(target + to)));
    });
    return elements_.back();
  }

  const ScatterArgs& args_;
  std::size_t columns_;
  std::int64_t first_key_ = 0;
  bool dense_ = true;
  std::vector<std::size_t> slot_of_key_;  ///< 1 + the number of the element, 0 for none
  std::unordered_map<std::int64_t, std::size_t> slot_of_sparse_key_;
  std::vector<Element> elements_;
  std::vector<A> rows_;  ///< the current blocks
  std::unordered_map<std::size_t, Tree> trees_;
};

}  // namespace gpukern::cpu

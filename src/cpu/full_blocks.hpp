// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The blocks of the elements that have more than one: see src/core/reduce.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/threading/stop.hpp"

namespace gpukern::cpu {

/// Joins the full blocks of an element, which has a number of columns.
template <class A, gpukern_reduce reduce>
class BlockTree {
 public:
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  void clear() { blocks_ = 0; }
  /// Adds a block, and overwrites `row`, which holds it.
  void push(A* row, std::size_t columns) {
    std::size_t level = 0;
    for (; has(level); ++level) join(level, row, columns);
    levels_.resize(std::max(levels_.size(), (level + 1) * columns));
    std::copy_n(row, columns, levels_.data() + level * columns);
    ++blocks_;
  }
  /// Joins all blocks with the last one in `row`.
  void close(A* row, std::size_t columns) const {
    for (std::size_t level = 0; level * columns < levels_.size(); ++level)
      if (has(level)) join(level, row, columns);
  }

 private:
  [[nodiscard]] bool has(std::size_t level) const { return ((blocks_ >> level) & 1) != 0; }
  void join(std::size_t level, A* later, std::size_t columns) const {
    const A* const earlier = levels_.data() + level * columns;
    for (std::size_t c = 0; c < columns; ++c) later[c] = combine(reduce, earlier[c], later[c]);
  }

  std::int64_t blocks_ = 0;
  std::vector<A> levels_;  ///< level k combines 2^k blocks if bit k of their number is set
};

/// The full blocks of all elements.
template <class A, gpukern_reduce reduce>
class FullBlocks {
 public:
  explicit FullBlocks(std::size_t columns) : columns_(columns) {}

  void push(std::int64_t key, const A* row) {
    keys_.push_back(key);
    rows_.insert(rows_.end(), row, row + columns_);
  }
  /// Calls visit(key, tree) for each element that has full blocks.
  template <class Visit>
  void for_each_tree(const Visit& visit) {
    std::vector<std::size_t> order(keys_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t block) {
      return std::pair{keys_[block], block};  // in order
    });
    BlockTree<A, reduce> tree;
    for (std::size_t k = 0; k < order.size(); ++k) {
      tree.push(rows_.data() + order[k] * columns_, columns_);
      const std::int64_t key = keys_[order[k]];
      if (k + 1 < order.size() && keys_[order[k + 1]] == key) continue;
      if (is_stopped()) return;
      visit(key, tree);
      tree.clear();
    }
  }

 private:
  std::size_t columns_;
  std::vector<std::int64_t> keys_;  ///< of each block, in the order in which they became full
  std::vector<A> rows_;
};

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The reductions of src/core/reduce.hpp over updates in order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/cpu/axis_offsets.hpp"
#include "src/cpu/cache.hpp"
#include "src/cpu/elements.hpp"
#include "src/cpu/full_blocks.hpp"
#include "src/cpu/key_numbers.hpp"
#include "src/cpu/scatter_updates.hpp"

namespace gpukern::cpu {

/// Calls visit(target offset, value offset) for every column.
template <class Visit>
void for_each_column(const Loop<2>& columns, const Visit& visit) {
  if (columns.ndim == 0) return visit(0, 0);
  const auto visit_run = [&](const ColumnOffsets& offset, std::int64_t length) {
    // Copies, since stores of bytes could change what is behind references.
    const Visit visit_one = visit;
    const auto [to, from] = offset;
    const std::int64_t to_step = run_stride(columns, kTargetColumn);
    const std::int64_t from_step = run_stride(columns, kValueColumn);
    for (std::int64_t i = 0; i < length; ++i) visit_one(to + i * to_step, from + i * from_step);
  };
  for_each_column_run(columns, ColumnRunVisitor(visit_run));
}

struct FetchNothing {
  void operator()(std::int64_t /*key*/) const {}
};

/// Calls body(key, target, value) for updates of keys that are `step` bytes apart. The parameters
/// are passed by value, and the functions must hold values: stores of bytes could change what is
/// behind a reference.
template <class Step, class Key, class Value, class Body>
void apply_updates(std::byte* target, Step step, const std::byte* values, std::int64_t count,
                   Key key, Value value, Body body) {
  for (std::int64_t u = 0; u < count; ++u) body(key(u), target + key(u) * step, values + value(u));
}

/// As apply_updates(), but fetches the elements of the target, and what fetch(key) fetches, before.
template <class Key, class Value, class Body, class Fetch>
void apply_far_updates(std::byte* target, std::int64_t step, const std::byte* values,
                       std::int64_t count, Key key, Value value, Body body, Fetch fetch) {
  constexpr std::int64_t kAhead = 32;
  for (std::int64_t u = 0; u < count; ++u) {
    const std::int64_t next = key(std::min(u + kAhead, count - 1));
    prefetch_to_write(target + next * step);
    fetch(next);
    body(key(u), target + key(u) * step, values + value(u));
  }
}

/// As apply_updates(), for keys of several dimensions.
template <class Body>
void apply_unraveled(const ScatterArgs& args, const Updates& updates, const Body& body) {
  std::array<std::int64_t, UpdateReader::kBlock>
      offset;  // NOLINT(*-member-init): the first `count`
  const AxisOffsets offsets(args.keys);
  for (std::int64_t done = 0; done < updates.count;) {
    const std::int64_t count = std::min(UpdateReader::kBlock, updates.count - done);
    for (std::int64_t u = 0; u < count; ++u)
      offset[static_cast<std::size_t>(u)] = updates.at(done + u).key;
    offsets.make(0, 0, count, offset.data());
    for (std::int64_t u = 0; u < count; ++u, ++done) {
      const Update update = updates.at(done);
      body(update.key, args.target + offset[static_cast<std::size_t>(u)],
           args.values + update.value);
    }
  }
}

/// Calls body(key, target, value) for updates in order. Where the target is larger than a core's
/// cache, its elements are fetched before, and fetch(key) fetches what else the body accesses.
/// Compiled for contiguous items of `item` bytes as well, if that is not 0.
template <std::int64_t item = 0, class Body, class Fetch = FetchNothing>
void for_each_update(const ScatterArgs& args, const Updates& updates, const Body& body,
                     const Fetch& fetch = {}) {
  const std::int64_t count = updates.count;
  if (args.keys.ndim > 1) return apply_unraveled(args, updates, body);
  const std::int64_t step = run_stride(args.keys, 0);
  const std::int64_t bytes = std::max<std::int64_t>(1, std::abs(step));
  const bool is_far = args.keys.count() > core_cache_bytes() / bytes;
  visit_updates(updates, [&](const auto key, const auto value) {
    if (is_far)
      return apply_far_updates(args.target, step, args.values, count, key, value, body, fetch);
    if constexpr (item > 0)
      if (step == item)
        return apply_updates(args.target, std::integral_constant<std::int64_t, item>{}, args.values,
                             count, key, value, body);
    apply_updates(args.target, step, args.values, count, key, value, body);
  });
}

/// As combine(), without branches: minima and maxima of floating-point numbers as those of vectors,
/// since compilers branch to choose one of two numbers. Loops over it are not vectorized.
template <gpukern_reduce reduce, class A>
A combine_one(A a, A b) {
  if constexpr (std::is_floating_point_v<A> &&
                (reduce == GPUKERN_REDUCE_MIN || reduce == GPUKERN_REDUCE_MAX)) {
    using Bits [[gnu::vector_size(16)]] =
        std::conditional_t<sizeof(A) == 4, std::uint32_t, std::uint64_t>;
    using Vector [[gnu::vector_size(16)]] = A;
    return extreme<Bits>(reduce == GPUKERN_REDUCE_MAX, Vector{a}, Vector{b})[0];
  } else {
    return combine(reduce, a, b);
  }
}

/// Combines a value with an element of the target; `count` values make up the result.
template <class T, gpukern_reduce reduce>
void combine_element(std::byte* target, const std::byte* value, std::int64_t count) {
  const auto sum = combine_one<reduce>(widened(load_as<T>(target)), widened(load_as<T>(value)));
  if constexpr (std::is_floating_point_v<T> && reduce != GPUKERN_REDUCE_MEAN) {
    // The sum itself, for the next value waits for it; compilers move a choice between it and a NaN
    // through another register.
    if (sum == sum) [[likely]]
      return store_as<T>(target, sum);
  }
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
  void load(const std::byte* target, A* row) const {
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
      *row++ = widened(load_as<T>(target + to));
    });
  }
  void store(std::byte* target, const A* row, std::int64_t values) const {
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
      store_as<T>(target + to, finished<T>(reduce, *row++, values));
    });
  }
  /// Makes sums of `values` values the results.
  void finish(std::byte* target, std::int64_t values) const {
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t) {
      store_as<T>(target + to, finished<T>(reduce, widened(load_as<T>(target + to)), values));
    });
  }
  /// As combine_element(), for all columns.
  void combine_in_place(std::byte* target, const std::byte* value, std::int64_t count) const {
    if (contiguous_ > 0) {
      for (std::int64_t at = 0; at < contiguous_; at += std::int64_t{sizeof(T)}) {  // vectorized
        const auto sum =
            combine(reduce, widened(load_as<T>(target + at)), widened(load_as<T>(value + at)));
        store_as<T>(target + at, finished<T>(reduce, sum, count));
      }
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
  static constexpr gpukern_reduce kStep = step_of(reduce);

 public:
  CountedReduction(const ScatterArgs& args, std::int64_t first, std::int64_t range)
      : args_(args),
        row_(args),
        first_(first),
        values_(static_cast<std::size_t>(range)),
        block_(static_cast<std::size_t>(args.columns.count())) {}

  void add(const Updates& updates) {
    if (args_.columns.ndim == 0)
      add_with(updates, [](std::byte* target, const std::byte* value) {
        combine_element<T, kStep>(target, value, 1);
      });
    else
      add_with(updates, [row = row_](std::byte* target, const std::byte* value) {
        row.combine_in_place(target, value, 1);
      });
  }

  void finish() {
    const Row<T, reduce> row(args_);
    blocks_.for_each_tree([&](std::int64_t key, const BlockTree<T, kStep>& tree) {
      std::uint8_t& values = values_[static_cast<std::size_t>(key - first_)];
      std::byte* const target = row.target(key);
      row.load(target, block_.data());
      tree.close(block_.data(), block_.size());
      row.store(target, block_.data(), tree.blocks() * kBlockValues + values + 1);
      values = 0;
    });
    if constexpr (reduce == GPUKERN_REDUCE_MEAN) finish_one_block(row);
  }

 private:
  /// Makes results of the elements that have values.
  void finish_one_block(const Row<T, reduce>& row) const {
    std::array<std::uint16_t, 1024> found;  // NOLINT(*-member-init): the first `count`
    for (std::size_t begin = 0; begin < values_.size() && !is_stopped(); begin += found.size()) {
      const std::size_t end = std::min(begin + found.size(), values_.size());
      std::size_t count = 0;
      for (std::size_t at = begin; at < end; ++at) {  // without a branch
        found[count] = static_cast<std::uint16_t>(at - begin);
        count += values_[at] > 0 ? 1 : 0;
      }
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t at = begin + found[k];
        row.finish(row.target(first_ + static_cast<std::int64_t>(at)), values_[at] + 1);
      }
    }
  }

  template <class Combine>
  void add_with(const Updates& updates, const Combine& combine_next) {
    std::uint8_t* const values = values_.data();
    for_each_update<sizeof(T)>(
        args_, updates,
        [this, values, first = first_, combine_next](std::int64_t key, std::byte* target,
                                                     const std::byte* value) {
          if (values[key - first]++ == kBlockValues - 1)
            start_block(key, target, value);
          else
            combine_next(target, value);
        },
        [values, first = first_](std::int64_t key) { prefetch_to_write(values + (key - first)); });
  }

  [[gnu::noinline]] void start_block(std::int64_t key, std::byte* target, const std::byte* value) {
    row_.load(target, block_.data());
    blocks_.push(key, block_.data());
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t from) {
      store_as<T>(target + to, load_as<T>(value + from));
    });
  }

  const ScatterArgs& args_;
  Row<T, kStep> row_;
  std::int64_t first_;
  std::vector<std::uint8_t> values_;  ///< in the current block, less one, modulo kBlockValues
  std::vector<T> block_;              ///< one that is joined with others
  FullBlocks<T, kStep> blocks_{block_.size()};
};

/// Reduces in accumulators, which are written to the target at the end.
template <class T, gpukern_reduce reduce>
class BlockedReduction {
  using A = Accumulator<T>;
  static constexpr gpukern_reduce kStep = step_of(reduce);

 public:
  /// For keys in [first, first + range) if `dense`, else for any `range` different keys.
  BlockedReduction(const ScatterArgs& args, std::int64_t first, std::int64_t range, bool dense)
      : args_(args),
        row_(args),
        columns_(static_cast<std::size_t>(args.columns.count())),
        first_(first),
        dense_(dense),
        numbers_(dense ? 0 : range),
        values_(static_cast<std::size_t>(range)),
        rows_(std::make_unique_for_overwrite<A[]>(static_cast<std::size_t>(range) * columns_)) {}

  void add(const Updates& updates) {
    if (dense_ && columns_ == 1) return add_items(updates);
    for_each_update(args_, updates,
                    [this](std::int64_t key, std::byte* /*target*/, const std::byte* value) {
                      const std::size_t element = this->element(key);
                      A* row = rows_.get() + element * columns_;
                      // The element itself is the first value.
                      if (values_[element]++ % kBlockValues == 0)
                        return start_block(element, key, value);
                      for_each_column(args_.columns, [&](std::int64_t, std::int64_t from) {
                        *row = combine(kStep, *row, widened(load_as<T>(value + from)));
                        ++row;
                      });
                    });
  }

  /// Writes the elements.
  void finish() {
    constexpr std::size_t kPart = std::size_t{1} << 16;
    blocks_.for_each_tree([this](std::int64_t element, const BlockTree<A, kStep>& tree) {
      tree.close(rows_.get() + static_cast<std::size_t>(element) * columns_, columns_);
    });
    for (std::size_t element = 0; element < values_.size(); ++element) {
      if (element % kPart == 0 && is_stopped()) return;
      if (values_[element] == 0) continue;
      const A* const row = rows_.get() + element * columns_;
      std::byte* const target =
          row_.target(dense_ ? first_ + static_cast<std::int64_t>(element) : numbers_.key(element));
      row_.store(target, row, values_[element]);
    }
  }

 private:
  void add_items(const Updates& updates) {
    std::int64_t* const values = values_.data();
    A* const rows = rows_.get();
    for_each_update(
        args_, updates,
        [this, values, rows, first = first_](std::int64_t key, std::byte* /*target*/,
                                             const std::byte* value) {
          const std::int64_t element = key - first;
          if (values[element]++ % kBlockValues == 0)
            return start_block(static_cast<std::size_t>(element), key, value);
          rows[element] = combine_one<kStep>(rows[element], widened(load_as<T>(value)));
        },
        [values, rows, first = first_](std::int64_t key) {
          prefetch_to_write(values + (key - first));
          prefetch_to_write(rows + (key - first));
        });
  }

  /// The first block begins with the element itself, others replace a full one.
  [[gnu::noinline]] void start_block(std::size_t element, std::int64_t key,
                                     const std::byte* value) {
    A* row = rows_.get() + element * columns_;
    const bool is_first = values_[element] == 1;
    if (is_first)
      ++values_[element];
    else
      blocks_.push(static_cast<std::int64_t>(element), row);
    const std::byte* const own = row_.target(key);
    for_each_column(args_.columns, [&](std::int64_t to, std::int64_t from) {
      const A number = widened(load_as<T>(value + from));
      *row++ = is_first ? combine(kStep, widened(load_as<T>(own + to)), number) : number;
    });
  }

  std::size_t element(std::int64_t key) {
    return dense_ ? static_cast<std::size_t>(key - first_) : numbers_(key);
  }

  const ScatterArgs& args_;
  Row<T, reduce> row_;
  std::size_t columns_;
  std::int64_t first_;
  bool dense_;
  KeyNumbers numbers_;                ///< the elements, unless dense
  std::vector<std::int64_t> values_;  ///< of each element, with its own
  std::unique_ptr<A[]> rows_;         ///< the current blocks
  FullBlocks<A, kStep> blocks_{columns_};
};

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The items of bags: their range by the offsets, and their rows by the index.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "src/core/cache_line.hpp"
#include "src/core/operation.hpp"
#include "src/core/reduce.hpp"
#include "src/cpu/elements.hpp"
#include "src/cpu/index_types.hpp"
#include "src/cpu/runs.hpp"

namespace gpukern::cpu {

/// Items [begin, end).
struct Items {
  std::int64_t begin;
  std::int64_t end;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

/// Finds the first columns of some items' rows; nullptr for those that mode "fill" leaves out.
using FindRows = void (*)(const GatherReduceArgs& args, Items items, const std::byte** rows);

inline void rows_in_order(const GatherReduceArgs& args, Items items, const std::byte** rows) {
  for (std::int64_t item = items.begin; item < items.end; ++item)
    *rows++ = args.source + offset_of(args.axis, item);
}

template <class T>
void rows_by_index(const GatherReduceArgs& args, Items items, const std::byte** rows) {
  const bool is_flat = args.axis.ndim > 1;
  const std::int64_t step = run_stride(args.axis, 0);
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    const std::int64_t position = resolve_index(
        args.mode, load<T>(args.index + item * args.index_step), std::is_signed_v<T>, args.n);
    const std::byte* row = nullptr;
    if (position >= 0)
      row = args.source + (is_flat ? offset_of(args.axis, position) : position * step);
    *rows++ = row;
  }
}

/// The bags of a call.
class Bags {
 public:
  explicit Bags(const GatherReduceArgs& args) : args_(args) {
    visit_index_type(args.offset_type,
                     [&](auto tag) { load_ = load<typename decltype(tag)::type>; });
  }
  /// Clipped, even if the offset has changed since it was checked.
  [[nodiscard]] std::int64_t offset(std::int64_t bag) const {
    return clip_offset(load_(args_.offsets + bag * args_.offset_step), args_.offset_type.is_signed,
                       args_.count);
  }
  [[nodiscard]] Items operator[](std::int64_t bag) const {
    const std::int64_t begin = offset(bag);
    return {begin, std::max(begin, offset(bag + 1))};
  }

 private:
  const GatherReduceArgs& args_;
  std::int64_t (*load_)(const std::byte*);
};

/// The rows of up to one block of items, without those that are left out.
template <class A>
struct BlockRows {
  const std::byte* const* row;
  const A* weight;
  std::int64_t count;
};

/// The rows of consecutive items, also for bags to come, which are prefetched.
template <class T, bool weighted>
class RowWindow {
  using A = Accumulator<T>;

 public:
  RowWindow(const GatherReduceArgs& args, std::int64_t row_bytes)
      : args_(args), prefetched_(std::min(row_bytes, kMostPrefetched)), find_(rows_in_order) {
    if (args.index == nullptr) return;
    visit_index_type(args.index_type,
                     [&](auto tag) { find_ = rows_by_index<typename decltype(tag)::type>; });
  }

  /// The rows of at most kBlockValues items, valid until the next call.
  BlockRows<A> rows(Items items) {
    if (items.begin < begin_ || items.end > end_) load(items);
    // The CPU itself prefetches rows in order.
    if (args_.index != nullptr) prefetch({items.begin + kAhead, items.end + kAhead});
    const auto at = static_cast<std::size_t>(items.begin - begin_);
    if (args_.mode == GPUKERN_INDEX_FILL && args_.index != nullptr)
      return present(at, items.count());
    return {&row_[at], weighted ? &weight_[at] : nullptr, items.count()};
  }

 private:
  static constexpr std::int64_t kMostPrefetched = 1024;  // bytes of a row
  static constexpr std::int64_t kAhead = 16;

  void load(Items items) {
    begin_ = items.begin;
    end_ = std::max(items.end, std::min(begin_ + kBlockValues, args_.count));
    find_(args_, {begin_, end_}, row_.data());
    if constexpr (weighted)
      for (std::int64_t item = begin_; item < end_; ++item)
        weight_[static_cast<std::size_t>(item - begin_)] =
            widened(load_as<T>(args_.weights + item * args_.weight_step));
  }

  void prefetch(Items items) const {
    const std::int64_t end = std::min(items.end, end_);
    for (std::int64_t item = items.begin; item < end; ++item) {
      const std::byte* const row = row_[static_cast<std::size_t>(item - begin_)];
      if (row == nullptr) continue;
      for (std::int64_t at = 0; at < prefetched_; at += kCacheLine) __builtin_prefetch(row + at);
    }
  }

  BlockRows<A> present(std::size_t at, std::int64_t items) {
    std::size_t count = 0;
    for (const std::size_t end = at + static_cast<std::size_t>(items); at < end; ++at) {
      if (row_[at] == nullptr) continue;
      present_row_[count] = row_[at];
      if constexpr (weighted) present_weight_[count] = weight_[at];
      ++count;
    }
    return {present_row_.data(), weighted ? present_weight_.data() : nullptr,
            static_cast<std::int64_t>(count)};
  }

  const GatherReduceArgs& args_;
  std::int64_t prefetched_;  ///< bytes of each row
  FindRows find_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::array<const std::byte*, kBlockValues> row_;
  std::array<const std::byte*, kBlockValues> present_row_;
  std::array<A, weighted ? kBlockValues : 1> weight_;
  std::array<A, weighted ? kBlockValues : 1> present_weight_;
};

}  // namespace gpukern::cpu

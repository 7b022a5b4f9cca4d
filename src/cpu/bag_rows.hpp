// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The items of bags: their range by the offsets, and their rows by the index.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "src/core/cache_line.hpp"
#include "src/core/operation.hpp"
#include "src/core/reduce.hpp"
#include "src/cpu/index_types.hpp"

namespace gpukern::cpu {

/// Of the largest type in which elements are combined.
constexpr std::size_t kMostAccumulatorBytes = 16;

/// Items [begin, end).
struct Items {
  std::int64_t begin;
  std::int64_t end;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

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
struct BlockRows {
  const std::byte* const* row;
  const std::byte* weight;  ///< accumulators; nullptr without weights
  std::int64_t count;
};

/// How the weights of items are read: `load` widens them to accumulators of `bytes`.
struct WeightReader {
  std::int64_t bytes;
  void (*load)(const GatherReduceArgs& args, Items items, std::byte* to);
};

/// The rows of consecutive items, also for bags to come, which are prefetched.
class RowWindow {
 public:
  /// Of every row, `row_bytes` are used. Without weights, `weights` is nullptr.
  RowWindow(const GatherReduceArgs& args, std::int64_t row_bytes, const WeightReader* weights);

  /// The rows of at most kBlockValues items, valid until the next call.
  BlockRows rows(Items items) {
    if (items.begin < begin_ || items.end > end_) load(items);
    // The CPU itself prefetches rows in order.
    if (args_.index != nullptr) prefetch({items.begin + kAhead, items.end + kAhead});
    const auto at = static_cast<std::size_t>(items.begin - begin_);
    if (args_.mode == GPUKERN_INDEX_FILL && args_.index != nullptr)
      return present(at, items.count());
    const std::byte* const weight =
        weights_ == nullptr ? nullptr : weight_.at(at, static_cast<std::size_t>(weights_->bytes));
    return {row_.data() + at, weight, items.count()};
  }

 private:
  struct alignas(kMostAccumulatorBytes) Weights {
    std::byte bytes[kBlockValues * kMostAccumulatorBytes];

    std::byte* at(std::size_t item, std::size_t size) { return bytes + item * size; }
  };

  static constexpr std::int64_t kAhead = 16;

  void prefetch(Items items) const {
    const std::int64_t end = std::min(items.end, end_);
    for (std::int64_t item = items.begin; item < end; ++item) {
      const std::byte* const row = row_[static_cast<std::size_t>(item - begin_)];
      if (row == nullptr) continue;
      for (std::int64_t at = 0; at < prefetched_; at += kCacheLine) __builtin_prefetch(row + at);
    }
  }

  void load(Items items);
  BlockRows present(std::size_t at, std::int64_t items);

  const GatherReduceArgs& args_;
  const WeightReader* weights_;
  std::int64_t prefetched_;  ///< bytes of each row
  /// Finds the first columns of some items' rows; nullptr for those that mode "fill" leaves out.
  void (*find_)(const GatherReduceArgs& args, Items items, const std::byte** rows);
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::array<const std::byte*, kBlockValues> row_;
  std::array<const std::byte*, kBlockValues> present_row_;
  Weights weight_;
  Weights present_weight_;
};

}  // namespace gpukern::cpu

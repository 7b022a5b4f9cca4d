// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The items of bags: their range by the offsets, and their rows by the index.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "src/core/operation.hpp"
#include "src/core/reduce.hpp"
#include "src/cpu/index_types.hpp"
#include "src/cpu/resolve_run.hpp"

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

/// Each row is prefetched as many rows before it is combined.
constexpr std::int64_t kRowsAhead = 16;

/// The rows of up to one block of items, without those that are left out.
struct BlockRows {
  const std::byte* const* row;  ///< kRowsAhead more follow, if they are fetched
  const std::byte* weight;      ///< accumulators; nullptr without weights
  std::int64_t count;
  bool fetched;  ///< whether to prefetch rows
};

/// How the weights of items are read: `load` widens them to accumulators of `bytes`.
struct WeightReader {
  std::int64_t bytes;
  void (*load)(const GatherReduceArgs& args, Items items, std::byte* to);
};

/// The rows of consecutive items, also for bags to come.
class RowWindow {
 public:
  /// Of every row, `row_bytes` are used together. Without weights, `weights` is nullptr.
  RowWindow(const GatherReduceArgs& args, std::int64_t row_bytes, const WeightReader* weights);

  /// The rows of at most kBlockValues items, valid until the next call.
  BlockRows rows(Items items) {
    if (items.begin < begin_ || items.end > end_) load(items);
    const auto at = static_cast<std::size_t>(items.begin - begin_);
    if (args_.mode == GPUKERN_INDEX_FILL && args_.index != nullptr)
      return present(at, items.count());
    const std::byte* const weight =
        weights_ == nullptr ? nullptr : weight_.at(at, static_cast<std::size_t>(weights_->bytes));
    return {row_.data() + at, weight, items.count(), fetched_};
  }

 private:
  struct alignas(kMostAccumulatorBytes) Weights {
    std::byte bytes[kBlockValues * kMostAccumulatorBytes];

    std::byte* at(std::size_t item, std::size_t size) { return bytes + item * size; }
  };
  using Rows = std::array<const std::byte*, kBlockValues + kRowsAhead>;

  void load(Items items);
  /// Finds the first columns of items' rows; nullptr for those that mode "fill" leaves out.
  void find(Items items);
  BlockRows present(std::size_t at, std::int64_t items);

  const GatherReduceArgs& args_;
  const WeightReader* weights_;
  bool fetched_;  ///< whether rows come from beyond the core's cache, and in any order
  ResolveRun resolve_ = nullptr;  ///< nullptr without an index
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  Rows row_;
  Rows present_row_;
  Weights weight_;
  Weights present_weight_;
};

}  // namespace gpukern::cpu

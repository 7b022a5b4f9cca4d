// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The items of bags: their range by the offsets, and their rows by the index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "src/core/operation.hpp"
#include "src/core/reduce.hpp"
#include "src/core/tensor.hpp"
#include "src/cpu/index_types.hpp"
#include "src/cpu/runs.hpp"

namespace gpukern::cpu {

/// Items [begin, end).
struct Items {
  std::int64_t begin;
  std::int64_t end;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

/// The rows of up to one block of items, without those that mode "fill" leaves out.
struct BagRows {
  std::int64_t count;
  std::array<const std::byte*, kBlockValues> row;     ///< of the first column
  std::array<const std::byte*, kBlockValues> weight;  ///< only if the call has weights
};

/// The bags of a call, and the rows of their items.
class Bags {
 public:
  explicit Bags(const GatherReduceArgs& args) : args_(args) {
    visit_index_type(args.offset_type,
                     [&](auto tag) { load_ = load<typename decltype(tag)::type>; });
    if (args.index == nullptr) {
      find_ = [](const GatherReduceArgs& of, Items items, BagRows& rows) {
        find_rows(of, items, rows, [](std::int64_t item) { return item; });
      };
      return;
    }
    visit_index_type(args.index_type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      find_ = [](const GatherReduceArgs& of, Items items, BagRows& rows) {
        find_rows(of, items, rows, [&of](std::int64_t item) {
          return resolve_index(of.mode, load<T>(of.index + item * of.index_step),
                               std::is_signed_v<T>, of.n);
        });
      };
    });
  }

  /// In range and not falling, even if the offsets have changed since they were checked.
  [[nodiscard]] Items operator[](std::int64_t bag) const {
    const std::int64_t begin = offset(bag);
    return {begin, std::max(begin, offset(bag + 1))};
  }
  [[nodiscard]] std::int64_t offset(std::int64_t bag) const {
    return clip_offset(load_(args_.offsets + bag * args_.offset_step), args_.offset_type.is_signed,
                       args_.count);
  }
  /// Finds the rows of at most kBlockValues items.
  void find(Items items, BagRows& rows) const { find_(args_, items, rows); }

 private:
  template <class Resolve>
  static void find_rows(const GatherReduceArgs& args, Items items, BagRows& rows,
                        const Resolve& resolve) {
    const bool is_flat = args.axis.ndim > 1;
    const std::int64_t step = run_stride(args.axis, 0);
    std::int64_t count = 0;
    for (std::int64_t item = items.begin; item < items.end; ++item) {
      const std::int64_t position = resolve(item);
      if (position < 0) continue;
      const std::int64_t offset = is_flat ? offset_of(args.axis, position) : position * step;
      rows.row[static_cast<std::size_t>(count)] = args.source + offset;
      if (args.weights != nullptr)
        rows.weight[static_cast<std::size_t>(count)] = args.weights + item * args.weight_step;
      ++count;
    }
    rows.count = count;
  }

  const GatherReduceArgs& args_;
  std::int64_t (*load_)(const std::byte*);
  void (*find_)(const GatherReduceArgs&, Items, BagRows&);
};

}  // namespace gpukern::cpu

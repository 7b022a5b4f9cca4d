// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The loops of gather_reduce that depend on the type of the elements and on the reduction. The sums
// of a tile are an array of accumulators, which the caller sees as bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cpu/bag_rows.hpp"

namespace gpukern::cpu {

/// This many columns of a row are combined at a time: their sums stay in the L1 cache.
constexpr std::int64_t kTileColumns = 256;
/// Blocks that are joined where they are combined; longer bags are divided into units of as many.
constexpr std::int64_t kUnitBlocks = 64;
constexpr std::int64_t kUnitItems = kUnitBlocks * kBlockValues;

/// Combines contiguous columns at an offset of the rows.
using CombineBlock = void (*)(const BlockRows& rows, std::int64_t offset, std::int64_t columns,
                              std::byte* sums);

/// Combines neighbouring elements of one column in any order.
using CombineRun = void (*)(const std::byte* from, std::int64_t count, std::byte* sum);

/// The loops that are compiled for several instruction sets.
struct BagKernels {
  CombineBlock combine_block;
  CombineRun combine_run;  ///< nullptr if the order of the elements matters
};

struct BagLoops {
  std::int64_t sum_bytes;  ///< of a column
  const WeightReader* weights;
  CombineBlock combine_block;
  CombineRun combine_run;  ///< nullptr also if the items of the only column are not neighbours
  /// Writes the reductions of bags [begin, end) of one column whose items are at equal distances,
  /// up to one of more than kBlockValues items, or kUnitItems with combine_run, and returns its
  /// number. nullptr for other items.
  std::int64_t (*reduce_short_bags)(const GatherReduceArgs& args, CombineRun combine_run,
                                    const Bags& bags, std::int64_t begin, std::int64_t end);
  /// Writes the reduction of at most kUnitItems of the only column.
  void (*reduce_column)(const GatherReduceArgs& args, RowWindow& window, Items items,
                        std::byte* out);
  /// Combines at most kUnitItems of the only column, and returns their number without those that
  /// are left out.
  std::int64_t (*combine_column)(const GatherReduceArgs& args, RowWindow& window, Items items,
                                 std::byte* sum);
  /// Combines two arrays of sums, of which `to` may be either.
  void (*join)(const std::byte* earlier, const std::byte* later, std::byte* to,
               std::int64_t columns);
  /// Writes the elements for the sums of `count` items. `final` is the reduction of the call.
  void (*finish)(gpukern_reduce final, const std::byte* sums, std::int64_t columns,
                 std::int64_t count, std::byte* to);
};

BagLoops bag_loops(const GatherReduceArgs& args);

#ifdef GPUKERN_X86
BagKernels bag_kernels_avx2(const GatherReduceArgs& args);
#endif

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Gathers along one run of a loop. The functions that return bool return false if mode "raise"
// rejects an index.
#pragma once

#include <optional>

#include "src/cpu/axis_offsets.hpp"
#include "src/cpu/gather_items.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/resolve_run.hpp"

namespace gpukern::cpu {

/// The functions chosen for one call.
struct GatherFunctions {
  using MoveItems = bool (*)(const GatherArgs& args, const ItemRun& run, std::int64_t fill_offset);

  explicit GatherFunctions(const GatherArgs& args);

  ResolveRun resolve;
  bool resolved;  ///< indices are first resolved to a block of positions or offsets
  bool far;       ///< items are prefetched
  MoveItems move = nullptr;
  std::optional<AxisOffsets> axis_offsets;  ///< of an axis of several dimensions
};

/// Gathers a run, along the index or, if it has one index, along the inner dimensions of the
/// source.
bool gather_run(const GatherArgs& args, const GatherFunctions& functions, const ItemRun& run,
                std::int64_t fill_offset);

/// Finds the offset in the source of what one index refers to, or kNoPosition.
bool find_item(const GatherArgs& args, ResolveRun resolve, const std::byte* index,
               std::int64_t& offset);

/// Writes `bytes` bytes of the fill value, starting at byte `phase` of its period.
void fill_item(const GatherArgs& args, std::int64_t fill_offset, std::int64_t phase, std::byte* out,
               std::size_t bytes);

}  // namespace gpukern::cpu

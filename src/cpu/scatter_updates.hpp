// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The updates of a scatter with their indices resolved, in order or by slices of the target.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "src/core/operation.hpp"
#include "src/core/updates.hpp"
#include "src/cpu/resolve_run.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/stop.hpp"

namespace gpukern::cpu {

/// The updates of a block or of a slice, in order: a list, or keys of values that are `step` bytes
/// apart.
struct Updates {
  const Update* first;  ///< of a list
  std::int64_t count;
  const std::int64_t* keys = nullptr;  ///< null for a list
  std::int64_t value = 0;              ///< offset of the first one
  std::int64_t step = 0;

  [[nodiscard]] Update at(std::int64_t u) const {
    return keys == nullptr ? first[u] : Update{keys[u], value + u * step};
  }
};

/// Calls visit(key, value) with functions of the number of an update, for loops that are compiled
/// for each form.
template <class Visit>
void visit_updates(const Updates& updates, const Visit& visit) {
  if (updates.keys == nullptr)
    visit([first = updates.first](std::int64_t u) { return first[u].key; },
          [first = updates.first](std::int64_t u) { return first[u].value; });
  else
    visit(
        [keys = updates.keys](std::int64_t u) { return keys[u]; },
        [first = updates.value, step = updates.step](std::int64_t u) { return first + u * step; });
}

using ColumnOffsets = std::array<std::int64_t, 2>;

/// Refers to a function of a run of columns, so that the iteration over runs is compiled once.
class ColumnRunVisitor {
 public:
  template <class Visit>
  explicit ColumnRunVisitor(const Visit& visit)
      : visit_(&visit),
        call_([](const void* function, const ColumnOffsets& first, std::int64_t length) {
          (*static_cast<const Visit*>(function))(first, length);
        }) {}
  void operator()(const ColumnOffsets& first, std::int64_t length) const {
    call_(visit_, first, length);
  }

 private:
  const void* visit_;
  void (*call_)(const void* function, const ColumnOffsets& first, std::int64_t length);
};

/// Calls visit(offsets of the first column, number of columns) for the runs of an update.
void for_each_column_run(const Loop<2>& columns, const ColumnRunVisitor& visit);

/// Resolves the updates at positions [begin, end) to `to`, without those that are skipped, and
/// returns their number.
std::int64_t resolve_updates(const ScatterArgs& args, std::int64_t begin, std::int64_t end,
                             Update* to);

/// Resolves updates in blocks of up to kBlock.
class UpdateReader {
 public:
  static constexpr std::int64_t kBlock = 512;

  explicit UpdateReader(const ScatterArgs& args);
  /// The first of the updates at positions [begin, end), without those that are skipped. Sets
  /// `begin` to the position of the next one.
  Updates read(std::int64_t& begin, std::int64_t end);

 private:
  /// Those of one run, as a list if some are skipped.
  Updates read_run(std::int64_t begin, std::int64_t end);

  const ScatterArgs& args_;
  ResolveRun resolve_;
  std::int64_t run_;  ///< updates of a run, 0 if it is too short to pay
  std::array<std::int64_t, kBlock> keys_;
  std::array<Update, kBlock> list_;
};

/// Updates that take about 100 microseconds.
inline std::int64_t part_of(std::int64_t row_bytes) {
  constexpr std::int64_t kBytes = std::int64_t{256} << 10;
  return std::clamp(kBytes / std::max<std::int64_t>(row_bytes, 1), std::int64_t{1}, kBytes / 4);
}

/// Calls body(updates) for parts of a list of updates of rows, in order, until the call is stopped.
template <class Body>
void for_each_part(const Updates& updates, std::int64_t row_bytes, const Body& body) {
  const std::int64_t part = part_of(row_bytes);
  for (std::int64_t at = 0; at < updates.count && !is_stopped(); at += part)
    body(Updates{updates.first + at, std::min(part, updates.count - at)});
}

/// Calls body(updates) for blocks of the updates at positions [begin, end), in order, until the
/// call is stopped.
template <class Body>
void for_each_block(const ScatterArgs& args, std::int64_t begin, std::int64_t end,
                    const Body& body) {
  UpdateReader reader(args);
  const std::int64_t part = std::min(UpdateReader::kBlock, part_of(args.row_bytes()));
  while (begin < end && !is_stopped()) body(reader.read(begin, std::min(begin + part, end)));
}

}  // namespace gpukern::cpu

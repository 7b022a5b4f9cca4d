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
#include "src/cpu/index_types.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/stop.hpp"

namespace gpukern::cpu {

/// The updates of a block or of a slice, in order.
struct Updates {
  const Update* first;
  std::int64_t count;
};

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

/// Updates that take about 100 microseconds.
inline std::int64_t part_of(std::int64_t row_bytes) {
  constexpr std::int64_t kBytes = std::int64_t{256} << 10;
  return std::clamp(kBytes / std::max<std::int64_t>(row_bytes, 1), std::int64_t{1}, kBytes / 4);
}

/// Calls body(updates) for parts of resolved updates of rows, in order, until the call is stopped.
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
  std::array<Update, 512> block;
  const std::int64_t part = std::min<std::int64_t>(block.size(), part_of(args.row_bytes()));
  for (; begin < end && !is_stopped(); begin += part)
    body(Updates{block.data(),
                 resolve_updates(args, begin, std::min(begin + part, end), block.data())});
}

}  // namespace gpukern::cpu

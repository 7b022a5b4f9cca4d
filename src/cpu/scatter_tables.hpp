// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// scatter to a small target by several threads: each has a table with an entry for every key, and
// the tables are joined. It reads every update once and sorts none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/cpu/scatter_updates.hpp"

namespace gpukern::cpu {

/// How the updates of a call change the target. The order of the values does not matter, or the
/// last one wins.
struct TableCombiner {
  /// Combines each value with the element of the target, or replaces it.
  void (*in_place)(const ScatterArgs& args, const Updates& updates);
  /// Writes the value that changes no element; null if the last one wins.
  void (*write_identity)(std::byte* element);
};

/// The number of tables that pay with this number of threads; 0 for none. They take up to twice the
/// second-level caches of the cores, and an entry for at least 4 updates.
std::int64_t tables_for(const ScatterArgs& args, int threads);

/// Allocates the tables first, and then changes the target.
void scatter_by_tables(const ScatterArgs& args, const TableCombiner& combiner, std::int64_t tables);

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How scatter combines values with the target: one function for each dtype and reduction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "src/cpu/scatter_updates.hpp"

namespace gpukern::cpu {

/// The keys that updates may have.
struct KeyRange {
  std::int64_t first;
  std::int64_t count;
};

/// Calls visit(updates) once for all updates or for their blocks, in order.
using ForEachBlock = std::function<void(const std::function<void(const Updates&)>& visit)>;

/// How a call combines updates.
struct Combiner {
  /// Each with the element at once: exact if the order does not matter or the indices are unique.
  void (*in_place)(const ScatterArgs& args, const Updates& updates) = nullptr;
  /// In blocks, for keys in a range that is not much larger than the number of updates. nullptr if
  /// the call combines in place only.
  void (*in_blocks)(const ScatterArgs& args, const KeyRange& keys,
                    const ForEachBlock& blocks) = nullptr;
  /// In blocks, for any keys.
  void (*sparse)(const ScatterArgs& args, const Updates& updates) = nullptr;
  /// In blocks, for few keys: see FewKeysReduction.
  void (*few_keys)(const ScatterArgs& args, std::int64_t parts) = nullptr;
  /// See TableCombiner.
  void (*write_identity)(std::byte* element) = nullptr;
  /// Keys for each update with which in_blocks still costs less than to sort the updates.
  std::int64_t most_keys = 0;
  /// Whether in_place is exact if no element has more than a block of values.
  bool is_exact_in_a_block = false;

  [[nodiscard]] bool is_in_place() const { return in_blocks == nullptr; }
  void use_in_place() { in_blocks = nullptr; }
};

/// Puts values, or combines them as args.reduce says.
Combiner combiner_for(const ScatterArgs& args);

}  // namespace gpukern::cpu

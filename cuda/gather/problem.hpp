// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The properties of a gather that determine its kernel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/gather/tuning.hpp"
#include "src/core/operation.hpp"

namespace gpukern::gpu {

/// Items of a vector: as many as a 16-byte store takes, four at most. More would spread the index
/// loads of a warp.
constexpr std::int64_t vector_items(std::int64_t item_bytes) {
  return item_bytes < 4 ? 4 : 16 / item_bytes;
}
constexpr std::int64_t pair_items(std::int64_t item_bytes) {
  return std::min<std::int64_t>(vector_items(item_bytes), 2);
}

/// The common layout: out[o, i] = source[o, index[i]] for `outer` times `count` items of
/// GatherArgs::item bytes.
struct Rows {
  std::int64_t outer = 1;
  std::int64_t outer_stride = 0;
  std::int64_t count = 1;
  std::int64_t axis_stride = 0;
};

/// The dimensions in the order of out's memory.
Loop<4> in_memory_order(Loop<4> loop);

/// Whether 16 bytes hold the fill value, repeated. No value means zeros.
bool has_repeated_fill(const GatherArgs& args);

/// The arguments and the values derived from them. It does not access their memory.
struct GatherProblem {
  explicit GatherProblem(const GatherArgs& args);

  const GatherArgs& args;
  const GatherTuning& tuning;  ///< of the current device
  std::int64_t width;  ///< bytes of a word, 1 to 16: it divides the item, and all addresses but the
                       ///< index's
  Rows rows;           ///< if has_rows
  bool has_rows;  ///< index and out are contiguous, index is aligned and no tuple, items have one
                  ///< stride along the axis, and no dimension moves index and source, or index and
                  ///< fill value

  /// Whether an item is one word.
  [[nodiscard]] bool single_words() const { return args.item == width; }

  /// Words in out.
  [[nodiscard]] std::int64_t words() const { return rows.outer * rows.count * (args.item / width); }

  /// Bytes of the source for each index: the mean distance of the items if the indices are spread
  /// over the whole axis.
  [[nodiscard]] double bytes_per_index() const;

  /// Items of a row of the source that shared memory holds.
  [[nodiscard]] std::int64_t last_axis_held() const;

  /// Whether a row takes most of a multiprocessor's shared memory, or more than a block may have.
  [[nodiscard]] bool last_axis_is_large() const;

  /// Whether index and out are aligned to vectors of `count` elements.
  [[nodiscard]] bool aligned_to_vectors(std::int64_t count) const;
};

}  // namespace gpukern::gpu

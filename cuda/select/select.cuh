// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The passes of a selection: the mask becomes one bit for each element, and a count for each tile;
// the counts become the number of selected elements before each tile, in a separate pass unless
// there are few; then each tile writes its own part of the output.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/common/launch.cuh"
#include "cuda/runtime/mailbox.hpp"
#include "src/core/operation.hpp"

namespace gpukern::gpu {

inline constexpr int kTile = 4096;
inline constexpr int kEach = kTile / kThreads;  ///< elements of a thread, whose bits are one word
static_assert(kEach == 16);

struct SelectCall {
  const SelectArgs& args;
  std::int64_t lead;  ///< elements of the first tile before the mask, so that vectors are aligned
  std::int64_t tiles;
  cudaStream_t stream;
  std::uint32_t* bits = nullptr;  ///< of tiles + 1 tiles, of which the last one is empty
  /// [tiles + 1]: the counts of tiles, then, unless there are few, those before a tile.
  std::int64_t* before = nullptr;
  std::byte* scan_memory = nullptr;
  std::size_t scan_bytes = 0;

  /// Whether write_selected() takes the counts of tiles, of which each block adds up few.
  [[nodiscard]] bool has_few_tiles() const { return tiles <= std::int64_t{4} * kThreads; }
};

/// Whether elements of the mask are aligned and contiguous.
bool has_vectors(const SelectArgs& args);
/// Writes the bits and the counts of tiles.
void pack_mask(const SelectCall& call);
/// Sends the number of nonzero elements to the host.
void count_mask(const SelectCall& call, const Mailbox& box);
/// Writes what belongs to the selected elements, and the padding.
void write_selected(const SelectCall& call);

}  // namespace gpukern::gpu

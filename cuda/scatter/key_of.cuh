// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The key of an update, for kernels that do not sort.
#pragma once

#include "cuda/common/indexing.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

/// Resolves the index of an update to a key.
struct KeyOf {
  const std::byte* index;
  Loop<2> updates;  ///< index, key
  std::int64_t n;
  std::int64_t key_step;
  IndexType index_type;
  gpukern_index_mode mode;
  bool aligned;

  /// -1 if the update is skipped.
  [[nodiscard]] __device__ std::int64_t operator()(std::int64_t update) const {
    std::int64_t offset[2];
    unravel(updates, static_cast<std::uint64_t>(update), offset);
    const std::int64_t position = resolve_index(
        mode, load_index(index + offset[0], index_type, aligned), index_type.is_signed, n);
    return position < 0 ? -1 : position * key_step + offset[1];
  }
};

inline KeyOf key_of(const ScatterArgs& args) {
  KeyOf key{.index = args.index,
            .updates = {},
            .n = args.n,
            .key_step = args.key_step,
            .index_type = args.index_type,
            .mode = args.mode,
            .aligned = index_aligned(args.index, args.updates, kUpdateIndex, args.index_type)};
  for (int d = 0; d < args.updates.ndim; ++d)
    key.updates.push(args.updates.extent[d],
                     {args.updates.stride[kUpdateIndex][d], args.updates.stride[kKey][d]});
  return key;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The key of an update.
#pragma once

#include "cuda/common/indexing.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

/// Loads indices and resolves them to positions on the axis.
struct IndexReader {
  const std::byte* data;
  std::int64_t n;
  IndexType type;
  gpukern_index_mode mode;
  bool aligned;

  [[nodiscard]] __device__ std::int64_t load(std::int64_t offset) const {
    return load_index(data + offset, type, aligned);
  }
  /// -1 if the update is skipped.
  [[nodiscard]] __device__ std::int64_t resolve(std::int64_t loaded) const {
    return resolve_index(mode, loaded, type.is_signed, n);
  }
};

inline IndexReader index_reader(const ScatterArgs& args) {
  return {.data = args.index,
          .n = args.n,
          .type = args.index_type,
          .mode = args.mode,
          .aligned = index_aligned(args.index, args.updates, kUpdateIndex, args.index_type)};
}

/// Resolves the index of an update to a key.
struct KeyOf {
  IndexReader index;
  Loop<2> updates;  ///< index, key
  std::int64_t key_step;

  /// -1 if the update is skipped.
  [[nodiscard]] __device__ std::int64_t operator()(std::int64_t update) const {
    std::int64_t offset[2];
    unravel(updates, static_cast<std::uint64_t>(update), offset);
    const std::int64_t position = index.resolve(index.load(offset[0]));
    return position < 0 ? -1 : position * key_step + offset[1];
  }
};

inline KeyOf key_of(const ScatterArgs& args) {
  KeyOf key{.index = index_reader(args), .updates = {}, .key_step = args.key_step};
  for (int d = 0; d < args.updates.ndim; ++d)
    key.updates.push(args.updates.extent[d],
                     {args.updates.stride[kUpdateIndex][d], args.updates.stride[kKey][d]});
  return key;
}

}  // namespace gpukern::gpu

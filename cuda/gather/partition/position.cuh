// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/common/indexing.cuh"

namespace gpukern::gpu {

/// Not inlined, so that the loops over common indices stay short.
template <class Raw>
__device__ __noinline__ std::int64_t uncommon_position(const Bounds<Raw>& bounds, Raw raw) {
  return bounds.position(raw);
}

/// Negative for the fill value.
template <class Raw>
__device__ std::int64_t position_of(const Bounds<Raw>& bounds, Raw raw) {
  return raw <= bounds.last ? static_cast<std::int64_t>(raw) : uncommon_position(bounds, raw);
}

}  // namespace gpukern::gpu

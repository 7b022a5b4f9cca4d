// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The alignment of an index, on the host.
#pragma once

#include <cstddef>

#include "cuda/common/arithmetic.hpp"
#include "src/core/index.hpp"
#include "src/core/loop.hpp"

namespace gpukern::gpu {

/// Whether every index that the loop visits is aligned to its width.
template <int Operands>
bool index_aligned(const std::byte* index, const Loop<Operands>& loop, int operand,
                   IndexType type) {
  bool aligned = alignment_of(index) >= type.bytes;
  for (int d = 0; d < loop.ndim; ++d)
    aligned = aligned && alignment_of(loop.stride[operand][d]) >= type.bytes;
  return aligned;
}

}  // namespace gpukern::gpu

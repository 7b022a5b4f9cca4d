// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Reading indices on the GPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/common/launch.cuh"
#include "src/core/index.hpp"

namespace gpukern::gpu {

/// The value of an index of Raw's width, as resolve_index() takes it.
template <class Raw>
__device__ std::int64_t as_index(Raw raw, bool is_signed) {
  using Signed = std::make_signed_t<Raw>;
  return is_signed ? static_cast<std::int64_t>(static_cast<Signed>(raw))
                   : static_cast<std::int64_t>(raw);
}

template <class Raw>
__device__ std::int64_t load_raw_index(const std::byte* index, bool is_signed, bool aligned) {
  const Raw raw = aligned ? *reinterpret_cast<const Raw*>(index) : load_bytes<Raw>(index);
  return as_index(raw, is_signed);
}

/// Reads an index of any width.
inline __device__ std::int64_t load_any_index(const std::byte* index, IndexType type,
                                              bool aligned) {
  switch (type.bytes) {
    case 1:
      return load_raw_index<std::uint8_t>(index, type.is_signed, aligned);
    case 2:
      return load_raw_index<std::uint16_t>(index, type.is_signed, aligned);
    case 4:
      return load_raw_index<std::uint32_t>(index, type.is_signed, aligned);
    default:
      return load_raw_index<std::uint64_t>(index, type.is_signed, aligned);
  }
}

/// Zeroes `bad`, if it is there, for an index that mode "raise" refuses. Many threads may: all
/// write the same.
inline __device__ void note_bad(std::uint64_t* bad, std::int64_t value, bool is_signed,
                                std::int64_t n) {
  if (bad != nullptr && !in_bounds(value, is_signed, n)) *bad = 0;
}

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

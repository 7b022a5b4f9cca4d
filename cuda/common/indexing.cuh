// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Indices on the GPU: loading, bounds checks and the resolution to positions on the axis. All
// indexing operations use these; src/core/index.hpp defines how a mode interprets an index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cuda/common/index_alignment.hpp"
#include "cuda/common/vector_access.cuh"
#include "src/core/index.hpp"

namespace gpukern::gpu {

/// Calls visit(Raw{}) with the unsigned type that indices of `bytes` bytes are loaded as.
#pragma nv_exec_check_disable
template <class Visit>
__host__ __device__ void visit_index_width(std::int32_t bytes, const Visit& visit) {
  switch (bytes) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

/// The value of a loaded index, as resolve_index() takes it.
template <class Raw>
__device__ std::int64_t as_index(Raw raw, bool is_signed) {
  using Signed = std::make_signed_t<Raw>;
  return is_signed ? static_cast<std::int64_t>(static_cast<Signed>(raw))
                   : static_cast<std::int64_t>(raw);
}

/// Loads an index of any width.
inline __device__ std::int64_t load_index(const std::byte* index, IndexType type, bool aligned) {
  std::int64_t value = 0;
  visit_index_width(type.bytes, [&]<class Raw>(Raw) {
    const Raw raw = aligned ? *reinterpret_cast<const Raw*>(index) : load_unaligned<Raw>(index);
    value = as_index(raw, type.is_signed);
  });
  return value;
}

/// Loads aligned indices of any width from find(k), or 0 where exists(k) is false; all before the
/// first use.
template <int kCount, class Find, class Exists>
__device__ void load_indices(IndexType type, const Find& find, const Exists& exists,
                             std::int64_t (&value)[kCount]) {
  visit_index_width(type.bytes, [&]<class Raw>(Raw) {
    Raw raw[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      raw[k] = exists(k) ? *reinterpret_cast<const Raw*>(find(k)) : Raw{};
#pragma unroll
    for (int k = 0; k < kCount; ++k) value[k] = as_index(raw[k], type.is_signed);
  });
}

template <int kCount, class Find>
__device__ void load_indices(IndexType type, const Find& find, std::int64_t (&value)[kCount]) {
  load_indices(type, find, [](int) { return true; }, value);
}

/// Sets `*bad` to zero, unless it is null, for an index that mode "raise" rejects. Concurrent
/// threads may do so: all write the same value.
inline __device__ void note_bad(std::uint64_t* bad, std::int64_t value, bool is_signed,
                                std::int64_t n) {
  if (bad != nullptr && !in_bounds(value, is_signed, n)) *bad = 0;
}

/// Resolves indices, loaded as the unsigned type Raw, to positions on an axis of n > 0 items. One
/// comparison accepts an index that is already a position; only other indices need the mode.
template <class Raw>
struct Bounds {
  Raw last = 0;  ///< the last raw value that is a position as it stands
  bool is_signed = false;
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  std::int64_t n = 1;
  std::uint64_t* bad = nullptr;  ///< see note_bad()

  Bounds(IndexType type, gpukern_index_mode index_mode, std::int64_t length,
         std::uint64_t* bad_flag)
      : is_signed(type.is_signed), mode(index_mode), n(length), bad(bad_flag) {
    const auto most =
        static_cast<std::uint64_t>(std::numeric_limits<Raw>::max() >> static_cast<int>(is_signed));
    last = static_cast<Raw>(std::min(static_cast<std::uint64_t>(n - 1), most));
  }

  /// In [0, n), or -1 for the fill value.
  __device__ std::int64_t position(Raw raw) const {
    if (raw <= last) return static_cast<std::int64_t>(raw);
    const std::int64_t value = as_index(raw, is_signed);
    note_bad(bad, value, is_signed, n);
    return resolve_index(mode, value, is_signed, n);
  }

  /// Of several indices: one branch where all are positions already.
  template <int kCount>
  __device__ void positions(const Raw (&raw)[kCount], std::int64_t (&position)[kCount]) const {
    bool plain = true;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      position[k] = static_cast<std::int64_t>(raw[k]);
      plain = plain && raw[k] <= last;
    }
    if (plain) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) position[k] = this->position(raw[k]);
  }
};

/// The raw indices that mode "raise" accepts: those for which raw + offset, modulo 2^bits, is at
/// most `last`.
template <class Raw>
struct AcceptedRange {
  Raw offset = 0;
  Raw last = 0;

  /// Not for a type all of whose values are accepted, see accepts_all().
  AcceptedRange(IndexType type, std::int64_t length) {
    const auto n = static_cast<std::uint64_t>(length);
    offset = type.is_signed ? static_cast<Raw>(n) : Raw{0};
    last = static_cast<Raw>(type.is_signed ? 2 * n - 1 : n - 1);
    if (n == 0) last = 0;
  }
  __device__ bool contains(Raw raw) const { return static_cast<Raw>(raw + offset) <= last; }
};

}  // namespace gpukern::gpu

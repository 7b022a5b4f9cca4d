// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The key of an update.
#pragma once

#include "cuda/common/indexing.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {

/// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
__device__ inline std::uint32_t hash_of(std::int64_t key) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(key) + 1) * 0x9E3779B97F4A7C15ULL >>
                                    32);
}

// What is rare is not inlined: for each update in flight, it would make up most of the code.

__device__ __noinline__ inline std::int64_t load_misaligned_index(const std::byte* from,
                                                                  IndexType type) {
  return load_index(from, type, false);
}
__device__ __noinline__ inline std::int64_t resolve_any(gpukern_index_mode mode,
                                                        std::int64_t loaded, bool is_signed,
                                                        std::int64_t n) {
  return resolve_index(mode, loaded, is_signed, n);
}

/// Loads indices and resolves them to positions on the axis.
struct IndexReader {
  const std::byte* data;
  std::int64_t n;
  IndexType type;
  gpukern_index_mode mode;
  bool aligned;

  [[nodiscard]] __device__ std::int64_t load(std::int64_t offset) const {
    const std::byte* const from = data + offset;
    return aligned ? load_index(from, type, true) : load_misaligned_index(from, type);
  }
  /// Loads those at offset(k), or 0 where exists(k) is false; all before the first use, if they are
  /// aligned.
  template <int kCount, class Offset, class Exists>
  __device__ void load(const Offset& offset, const Exists& exists,
                       std::int64_t (&value)[kCount]) const {
    if (aligned) return load_indices(type, [&](int k) { return data + offset(k); }, exists, value);
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      value[k] = exists(k) ? load_misaligned_index(data + offset(k), type) : 0;
  }
  template <int kCount, class Offset>
  __device__ void load(const Offset& offset, std::int64_t (&value)[kCount]) const {
    load(offset, [](int) { return true; }, value);
  }
  /// -1 if the update is skipped.
  [[nodiscard]] __device__ std::int64_t resolve(std::int64_t loaded) const {
    if (static_cast<std::uint64_t>(loaded) < static_cast<std::uint64_t>(n)) return loaded;
    return resolve_any(mode, loaded, type.is_signed, n);
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
  LoopOffsets<2> updates;  ///< index, key
  std::int64_t key_step;

  /// -1 if the update is skipped.
  [[nodiscard]] __device__ std::int64_t operator()(std::int64_t update) const {
    const OffsetsAt<2> at = updates.at(update);
    return key(index.load(at.offset[0]), at.offset[1]);
  }

  /// The keys of kCount updates from `first` on, `step` apart; -1 for those that are skipped, and
  /// from `count` on. All indices are loaded before the first use, if they are aligned.
  template <int kCount>
  __device__ void find(std::int64_t first, std::int64_t step, std::int64_t count,
                       std::int64_t (&key)[kCount]) const {
    if (!index.aligned) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) key[k] = any_key(first + k * step, count);
      return;
    }
    OffsetsAt<2> at[kCount];
    updates.find(Positions<kCount>(first, step, count - 1).of, at);
    std::int64_t loaded[kCount];
    load_indices(index.type, [&](int k) { return index.data + at[k].offset[0]; }, loaded);
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      key[k] = first + k * step < count ? this->key(loaded[k], at[k].offset[1]) : -1;
  }

  /// Whether keys are positions, and indices are contiguous and have 4 or 8 bytes.
  [[nodiscard]] __device__ bool is_plain() const {
    return index.aligned && key_step == 1 && updates.is_regular() && updates.step(1) == 0 &&
           updates.step(0) == index.type.bytes && index.type.bytes >= 4;
  }

 private:
  [[nodiscard]] __device__ std::int64_t key(std::int64_t loaded, std::int64_t offset) const {
    const std::int64_t position = index.resolve(loaded);
    return position < 0 ? -1 : position * key_step + offset;
  }

  [[nodiscard]] __device__ __noinline__ std::int64_t any_key(std::int64_t update,
                                                             std::int64_t count) const {
    return update < count ? (*this)(update) : -1;
  }
};

inline KeyOf key_of(const ScatterArgs& args) {
  Loop<2> updates;
  for (int d = 0; d < args.updates.ndim; ++d)
    updates.push(args.updates.extent[d],
                 {args.updates.stride[kUpdateIndex][d], args.updates.stride[kKey][d]});
  updates.coalesce();
  return {.index = index_reader(args), .updates = LoopOffsets(updates), .key_step = args.key_step};
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Copies of bytes through shared memory: asynchronous copies bring the aligned words that hold
// them, and they are read from there at any alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/word_copy.cuh"
#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {

/// From the first byte of any row of the source to the last one.
inline ByteRange source_range(const GatherArgs& args, const Rows& rows) {
  ByteRange range{args.source, args.source + args.item};
  for (const std::int64_t reach :
       {(rows.outer - 1) * rows.outer_stride, (args.n - 1) * rows.axis_stride})
    (reach < 0 ? range.begin : range.end) += reach;
  return range;
}

/// The most words that hold that many bytes, at any alignment.
inline std::int64_t max_words(std::int64_t bytes) { return (bytes + 30) / 16; }

/// The block's dynamic shared memory.
__device__ inline uint4* shared_words() {
  extern __shared__ uint4 words[];
  return words;
}

/// 16 bytes from byte `at` of shared memory on; the word after their last one must exist too.
__device__ inline uint4 load_shared(const uint4* shared, int at) {
  return funnel_shift(shared[at / 16], shared[at / 16 + 1], static_cast<unsigned>(at));
}

/// The first `count` bytes from `a`, the others from `b`; 0 < count < 16.
__device__ inline uint4 splice(const uint4& a, const uint4& b, unsigned count) {
  const std::uint64_t ones = ~std::uint64_t{0};
  const std::uint64_t low = count >= 8 ? ones : ~(ones << (8 * count));
  const std::uint64_t high = count <= 8 ? 0 : ~(ones << (8 * (count - 8)));
  const auto pick = [](std::uint32_t x, std::uint32_t y, std::uint64_t mask, int shift) {
    const auto m = static_cast<std::uint32_t>(mask >> shift);
    return (x & m) | (y & ~m);
  };
  return {pick(a.x, b.x, low, 0), pick(a.y, b.y, low, 32), pick(a.z, b.z, high, 0),
          pick(a.w, b.w, high, 32)};
}

}  // namespace gpukern::gpu

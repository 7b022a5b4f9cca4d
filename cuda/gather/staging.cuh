// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Bytes on their way through shared memory: they come as aligned words, whatever their own
// alignment, by copies that hold no registers, and leave as bytes of any alignment.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstddef>
#include <cstdint>

#include "cuda/gather/direct.cuh"

namespace gpukern::gpu {

/// Bytes that may be read.
struct Span {
  const std::byte* begin;
  const std::byte* end;
};

/// From the first byte of any row of the source to the last one.
inline Span source_span(const GatherArgs& args, const Rows& rows) {
  Span span{args.source, args.source + args.item};
  for (const std::int64_t reach :
       {(rows.outer - 1) * rows.outer_stride, (args.n - 1) * rows.axis_stride})
    (reach < 0 ? span.begin : span.end) += reach;
  return span;
}

/// The words that hold so many bytes at any alignment.
inline std::int64_t most_words(std::int64_t bytes) { return (bytes + 30) / 16; }

/// The block's dynamic shared memory.
__device__ inline uint4* shared_words() {
  extern __shared__ uint4 words[];
  return words;
}

/// The aligned word that holds the byte at an address.
__device__ inline const std::byte* word_of(const std::byte* address) {
  return address - (reinterpret_cast<std::uintptr_t>(address) & 15);
}

/// Copies the aligned word at `from` to shared memory; of a word at the edge of `memory` only the
/// bytes that belong to it. await_copies() and a barrier complete it.
__device__ inline void stage_word(uint4* to, const std::byte* from, const Span& memory) {
  if (from >= memory.begin && from + 16 <= memory.end) {
    __pipeline_memcpy_async(to, from, 16);
    return;
  }
  for (int b = 0; b < 16; ++b)
    if (from + b >= memory.begin && from + b < memory.end)
      reinterpret_cast<std::byte*>(to)[b] = from[b];
}

__device__ inline void await_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

/// 16 bytes from byte `at` of shared memory on; the word behind their last one must be there too.
__device__ inline uint4 staged_bytes(const uint4* shared, int at) {
  const uint4 low = shared[at / 16];
  const uint4 high = shared[at / 16 + 1];
  std::uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if ((at & 8) != 0)
    for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
  if ((at & 4) != 0)
    for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
  const unsigned bits = static_cast<unsigned>(at) % 4 * 8;
  return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
          __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits)};
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

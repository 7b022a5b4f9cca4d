// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "gather_bounds.cuh"
#include "gather_direct.cuh"
#include "gather_vector.cuh"

namespace gpukern::gpu {

struct ShiftedArgs {
  const std::byte* source;
  const std::byte* source_begin;  ///< the first byte of any row
  const std::byte* source_end;    ///< behind the last byte of any row
  const std::byte* index;
  std::byte* out;
  std::int64_t outer_stride;
  std::int64_t axis_stride;
  std::int64_t item;   ///< 16 or more
  std::int64_t total;  ///< bytes in out
  Turn bytes;          ///< of a row
  Turn count;          ///< rows of an outer position
};

/// 16 bytes from any address on, inside the two aligned words that hold them.
struct Window {
  uint4 low;
  uint4 high;
  unsigned shift;  ///< bytes to drop at the front, below 16

  __device__ uint4 bytes() const {
    std::uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if ((shift & 8) != 0)
      for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
    if ((shift & 4) != 0)
      for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
    const unsigned bits = shift % 4 * 8;
    return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
            __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits)};
  }
};

/// The first `count` bytes from `a`, the others from `b`.
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

__device__ inline const std::byte* word_of(const std::byte* address) {
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(address) &
                                            ~std::uintptr_t{15});
}

template <class Raw>
struct RowReader {
  const ShiftedArgs& args;
  const Bounds<Raw>& bounds;
  const Fill& fill;

  __device__ Raw index(const Turn::Place& at) const {
    return reinterpret_cast<const Raw*>(args.index)[at.at];
  }

  /// The word at `address`, of which only bytes of the source are read; the others are 0.
  __device__ uint4 word(const std::byte* address) const {
    if (address >= args.source_begin && address + 16 <= args.source_end)
      return __ldg(reinterpret_cast<const uint4*>(address));
    Vector<std::byte, 16> bytes{};
    for (int b = 0; b < 16; ++b)
      if (address + b >= args.source_begin && address + b < args.source_end)
        bytes.element[b] = address[b];
    uint4 word;
    std::memcpy(&word, &bytes, sizeof(word));
    return word;
  }

  /// 16 bytes from byte `from` of a row on, which may be negative or reach beyond the row: only the
  /// words that hold bytes of the row are read, the first one twice if it is the only one.
  __device__ Window window(const Turn::Place& at, Raw raw, std::int64_t from) const {
    const std::int64_t position = bounds.position(raw);
    const std::byte* row =
        args.source + (at.turn * args.outer_stride + position * args.axis_stride);
    if (position < 0) row = fill.data;
    if (row == nullptr) {
      const uint4 repeated = fill.chunk<uint4>(0);
      return {repeated, repeated, static_cast<unsigned>(from & 15)};
    }
    const std::byte* const begin = row + from;
    const std::byte* const first = word_of(from < 0 ? row : begin);
    const std::byte* const last = word_of(from + 16 > args.item ? row + args.item - 1 : begin + 15);
    const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(begin) & 15);
    if (position < 0)
      return {*reinterpret_cast<const uint4*>(first), *reinterpret_cast<const uint4*>(last), shift};
    return {word(first), word(last), shift};
  }

  /// Byte `at` of out.
  __device__ std::byte byte(std::int64_t at) const {
    const Turn::Place row = args.bytes.locate(at);
    const Turn::Place outer = args.count.locate(row.turn);
    const std::int64_t position = bounds.position(index(outer));
    if (position >= 0)
      return args.source[outer.turn * args.outer_stride + position * args.axis_stride + row.at];
    return fill.data != nullptr ? fill.data[row.at] : fill.chunk<std::byte>(row.at);
  }
};

/// out[o, i] = source[o, index[i]] by aligned words of 16 bytes of out, each from one row or two
/// that follow each other in out. Words that out fills only in part are moved by bytes.
template <class Raw, int kUnroll>
__global__ void gather_shifted_kernel(const __grid_constant__ ShiftedArgs args,
                                      const __grid_constant__ Bounds<Raw> bounds,
                                      const __grid_constant__ Fill fill) {
  const RowReader<Raw> reader{args, bounds, fill};
  const auto head = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(args.out) & 15);
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kUnroll * blockDim.x * 16;
  const Turn::Place row = args.bytes.locate(block);
  const Turn::Place outer = args.count.locate(row.turn);
  Turn::Place at[kUnroll];
  Window window[kUnroll];
  std::int64_t in_row[kUnroll];
  bool whole[kUnroll];
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    // The words begin `skew` bytes behind multiples of 16 in out's own bytes.
    const std::int64_t step = static_cast<std::int64_t>(k * blockDim.x + threadIdx.x) * 16;
    const std::int64_t skew = head == 0 ? 0 : 16 - head;
    whole[k] = block + step + skew + 16 <= args.total;
    const Turn::Place byte = args.bytes.advance(row, step + skew);
    in_row[k] = byte.at;
    at[k] = args.count.advance(outer, byte.turn - row.turn);
    if (whole[k]) window[k] = reader.window(at[k], reader.index(at[k]), in_row[k]);
  }
#pragma unroll
  for (int k = 0; k < kUnroll; ++k) {
    if (!whole[k]) continue;
    uint4 word = window[k].bytes();
    const std::int64_t left = args.item - in_row[k];
    if (left < 16) {
      const Turn::Place next = args.count.advance(at[k], 1);
      word = splice(word, reader.window(next, reader.index(next), -left).bytes(),
                    static_cast<unsigned>(left));
    }
    const std::int64_t step = static_cast<std::int64_t>(k * blockDim.x + threadIdx.x) * 16;
    const std::int64_t skew = head == 0 ? 0 : 16 - head;
    store_once(reinterpret_cast<uint4*>(args.out + block + step + skew), word);
  }
  // The bytes in front of the first whole word and behind the last one, by the first block.
  if (blockIdx.x != 0 || threadIdx.x >= 32) return;
  const std::int64_t skew = head == 0 ? 0 : 16 - head;
  const std::int64_t front = skew < args.total ? skew : args.total;
  const std::int64_t body = (args.total - front) / 16 * 16;
  const std::int64_t edge = threadIdx.x < 16 ? threadIdx.x : front + body + threadIdx.x - 16;
  if (threadIdx.x < 16 ? edge < front : edge < args.total) args.out[edge] = reader.byte(edge);
}

}  // namespace gpukern::gpu

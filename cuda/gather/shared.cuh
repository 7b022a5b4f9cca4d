// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/common/warp.cuh"
#include "cuda/gather/shared_words.cuh"

namespace gpukern::gpu {

struct SharedArgs {
  const std::byte* source;
  ByteRange memory;  ///< all rows
  const std::byte* index;
  std::byte* out;
  std::int64_t outer_stride;
  std::int64_t axis_stride;
  std::int64_t item;
  std::int64_t total;              ///< bytes in out
  FastDivmod<std::int64_t> bytes;  ///< of a row
  FastDivmod<std::int64_t> words;  ///< the most that hold a tile's part of a row
  FastDivmod<std::int64_t> count;  ///< rows of an outer position
};

/// A tile's part of a row.
struct Part {
  const std::byte* word;  ///< the aligned word that holds its first byte; null: Fill::repeated
  int shared;             ///< its first byte in the words of the tile
  int begin;              ///< its first byte in the tile

  static constexpr int kGap = 32;  ///< the most that the alignment of a part costs
};

/// The shared memory of a tile: its parts, their words, and a word that is read but not used.
inline std::int64_t tile_shared_bytes(std::int64_t item, std::int64_t tile) {
  const std::int64_t parts = tile / item + 2;
  return parts * (static_cast<std::int64_t>(sizeof(Part)) + Part::kGap) + tile + 16;
}

/// The tile of a block: `bytes` bytes of out, whole aligned words.
template <class Raw>
struct SharedTile {
  const SharedArgs& args;
  const Bounds<Raw>& bounds;
  const Fill& fill;
  Divmod<std::int64_t> first;  ///< the row of its first byte
  int bytes;
  int parts;
  Part* part;
  uint4* words;

  /// Part p, of the row at `row`.
  __device__ Part locate(int p, const Divmod<std::int64_t>& row) const {
    const std::int64_t in_row = p == 0 ? first.remainder : 0;
    const auto begin = static_cast<int>(p * args.item - first.remainder + in_row);
    const int slot = (begin + 15) / 16 * 16 + p * Part::kGap;
    const Raw raw = reinterpret_cast<const Raw*>(args.index)[row.remainder];
    const std::int64_t position = bounds.position(raw);
    const std::byte* from =
        position < 0
            ? fill.data
            : args.source + (row.quotient * args.outer_stride + position * args.axis_stride);
    if (from == nullptr) return {nullptr, slot + static_cast<int>(in_row & 15), begin};
    from += in_row;
    const auto shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) & 15);
    return {from - shift, slot + shift, begin};
  }

  __device__ void locate_all() const {
    const Divmod<std::int64_t> outer = args.count.divmod(first.quotient);
    for (int p = static_cast<int>(threadIdx.x); p < parts; p += static_cast<int>(blockDim.x))
      part[p] = locate(p, args.count.advance(outer, p));
  }

  /// Whether two neighbours of the first parts begin in one word. All threads call this.
  __device__ bool repeats_rows() const {
    const int p = 1 + static_cast<int>(threadIdx.x) % kWarp;
    const bool repeats =
        p + 1 < parts && part[p].word != nullptr && part[p].word == part[p + 1].word;
    return __any_sync(kAllLanes, repeats) != 0;
  }

  __device__ void copy() const {
    const bool is_repeated = repeats_rows();
    for (auto at = args.words.advance({0, 0}, threadIdx.x); at.quotient < parts;
         at = args.words.advance(at, blockDim.x)) {
      const auto p = static_cast<int>(at.quotient);
      const auto w = static_cast<int>(at.remainder);
      const Part& from = part[p];
      const int end = p + 1 < parts ? part[p + 1].begin : bytes;
      if (w * 16 >= from.shared % 16 + end - from.begin) continue;
      uint4* const to = words + from.shared / 16 + w;
      const std::byte* const word = from.word + w * 16;
      if (from.word == nullptr)
        *to = fill.word<uint4>(0);
      else if (fill.data != nullptr && word >= fill.data && word < fill.data + args.item)
        *to = *reinterpret_cast<const uint4*>(word);
      else
        copy_word_async(to, word, args.memory, is_repeated);
    }
    wait_for_copies();
  }

  /// The word at byte t of the tile: pieces of two parts, or more where rows are shorter than it.
  __device__ uint4 word(int t) const {
    const Divmod<std::int64_t> row = args.bytes.advance(first, t);
    auto p = static_cast<int>(row.quotient - first.quotient);
    uint4 word = piece(p, t);
    for (std::int64_t left = args.item - row.remainder; left < 16; left += args.item)
      word = splice(word, piece(++p, t), static_cast<unsigned>(left));
    return word;
  }

  __device__ uint4 piece(int p, int t) const {
    return load_shared(words, part[p].shared + t - part[p].begin);
  }
};

/// Byte `at` of out.
template <class Raw>
__device__ std::byte out_byte(const SharedArgs& args, const Bounds<Raw>& bounds, const Fill& fill,
                              std::int64_t at) {
  const Divmod<std::int64_t> row = args.bytes.divmod(at);
  const Divmod<std::int64_t> outer = args.count.divmod(row.quotient);
  const std::int64_t position =
      bounds.position(reinterpret_cast<const Raw*>(args.index)[outer.remainder]);
  if (position >= 0)
    return args
        .source[outer.quotient * args.outer_stride + position * args.axis_stride + row.remainder];
  return fill.data != nullptr ? fill.data[row.remainder] : fill.word<std::byte>(row.remainder);
}

/// out[o, i] = source[o, index[i]]. A block writes kWords aligned words of out a thread: it copies
/// the aligned words of the source that hold them to shared memory, and shifts them there to their
/// alignment in out. Words of which out has only a part are moved by bytes.
template <class Raw, int kWords>
__global__ void gather_shared_kernel(const __grid_constant__ SharedArgs args,
                                     const __grid_constant__ Bounds<Raw> bounds,
                                     const __grid_constant__ Fill fill) {
  wait_for_previous();
  const auto head = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(args.out) & 15);
  const std::int64_t front = head < args.total ? head : args.total;
  const std::int64_t back = front + (args.total - front) / 16 * 16;
  const auto tile_bytes = static_cast<std::int64_t>(blockDim.x * kWords * 16);
  const std::int64_t begin = front + blockIdx.x * tile_bytes;
  const auto bytes = static_cast<int>(begin + tile_bytes < back ? tile_bytes : back - begin);
  if (bytes > 0) {
    const Divmod<std::int64_t> first = args.bytes.divmod(begin);
    const auto parts =
        static_cast<int>(args.bytes.advance(first, bytes - 1).quotient - first.quotient) + 1;
    auto* const part = reinterpret_cast<Part*>(shared_words());
    const SharedTile<Raw> tile{args,  bounds, fill, first,
                               bytes, parts,  part, shared_words() + parts};
    tile.locate_all();
    __syncthreads();
    tile.copy();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const auto t = static_cast<int>(k * blockDim.x + threadIdx.x) * 16;
      if (t < bytes) store_streaming(reinterpret_cast<uint4*>(args.out + begin + t), tile.word(t));
    }
  }
  // The first block moves the bytes before the first whole word and after the last one.
  if (blockIdx.x != 0 || threadIdx.x >= 32) return;
  const std::int64_t edge = threadIdx.x < 16 ? threadIdx.x : back + threadIdx.x - 16;
  if (edge < (threadIdx.x < 16 ? front : args.total))
    args.out[edge] = out_byte(args, bounds, fill, edge);
}

}  // namespace gpukern::gpu

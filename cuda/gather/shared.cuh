// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/common/vector_access.cuh"
#include "cuda/gather/bounds.cuh"
#include "cuda/gather/staging.cuh"

namespace gpukern::gpu {

struct StagedArgs {
  const std::byte* source;
  Span memory;
  const std::byte* index;
  std::byte* out;
  std::int64_t outer_stride;
  std::int64_t axis_stride;
  std::int64_t item;
  std::int64_t total;  ///< bytes in out
  Turn bytes;          ///< of a row
  Turn words;          ///< the most that hold a tile's part of a row
  Turn count;          ///< rows of an outer position
};

/// A tile's part of a row.
struct Part {
  const std::byte* word;  ///< the aligned word that holds its first byte; null: Fill::repeated
  int staged;             ///< its first byte in the staged ones
  int begin;              ///< its first byte in the tile

  static constexpr int kGap = 32;  ///< what parts take at most for the alignment of their words
};

/// The shared memory of a tile: its parts, and their words. Behind them a word that is read but not
/// used.
inline std::int64_t staged_shared_bytes(std::int64_t item, std::int64_t tile) {
  const std::int64_t parts = tile / item + 2;
  return parts * (static_cast<std::int64_t>(sizeof(Part)) + Part::kGap) + tile + 16;
}

/// The tile of a block: `bytes` bytes of out, whole aligned words.
template <class Raw>
struct StagedTile {
  const StagedArgs& args;
  const Bounds<Raw>& bounds;
  const Fill& fill;
  Turn::Place first;  ///< the row of its first byte
  int bytes;
  int parts;
  Part* part;
  uint4* staged;

  /// Part p, of the row at `row`.
  __device__ Part locate(int p, const Turn::Place& row) const {
    const std::int64_t in_row = p == 0 ? first.at : 0;
    const auto begin = static_cast<int>(p * args.item - first.at + in_row);
    const int slot = (begin + 15) / 16 * 16 + p * Part::kGap;
    const Raw raw = reinterpret_cast<const Raw*>(args.index)[row.at];
    const std::int64_t position = bounds.position(raw);
    const std::byte* from =
        position < 0 ? fill.data
                     : args.source + (row.turn * args.outer_stride + position * args.axis_stride);
    if (from == nullptr) return {nullptr, slot + static_cast<int>(in_row & 15), begin};
    from += in_row;
    const auto shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) & 15);
    return {from - shift, slot + shift, begin};
  }

  __device__ void locate_all() const {
    const Turn::Place outer = args.count.locate(first.turn);
    for (int p = static_cast<int>(threadIdx.x); p < parts; p += static_cast<int>(blockDim.x))
      part[p] = locate(p, args.count.advance(outer, p));
  }

  __device__ void stage() const {
    for (auto at = args.words.advance({0, 0}, threadIdx.x); at.turn < parts;
         at = args.words.advance(at, blockDim.x)) {
      const auto p = static_cast<int>(at.turn);
      const auto w = static_cast<int>(at.at);
      const Part& from = part[p];
      const int end = p + 1 < parts ? part[p + 1].begin : bytes;
      if (w * 16 >= from.staged % 16 + end - from.begin) continue;
      uint4* const to = staged + from.staged / 16 + w;
      const std::byte* const word = from.word + w * 16;
      if (from.word == nullptr)
        *to = fill.chunk<uint4>(0);
      else if (fill.data != nullptr && word >= fill.data && word < fill.data + args.item)
        *to = *reinterpret_cast<const uint4*>(word);
      else
        stage_word(to, word, args.memory);
    }
    await_copies();
  }

  /// The word at byte t of the tile. Rows shorter than a word give it more than two pieces.
  __device__ uint4 word(int t) const {
    const Turn::Place row = args.bytes.advance(first, t);
    auto p = static_cast<int>(row.turn - first.turn);
    uint4 word = piece(p, t);
    for (std::int64_t left = args.item - row.at; left < 16; left += args.item)
      word = splice(word, piece(++p, t), static_cast<unsigned>(left));
    return word;
  }

  __device__ uint4 piece(int p, int t) const {
    return staged_bytes(staged, part[p].staged + t - part[p].begin);
  }
};

/// Byte `at` of out.
template <class Raw>
__device__ std::byte out_byte(const StagedArgs& args, const Bounds<Raw>& bounds, const Fill& fill,
                              std::int64_t at) {
  const Turn::Place row = args.bytes.locate(at);
  const Turn::Place outer = args.count.locate(row.turn);
  const std::int64_t position = bounds.position(reinterpret_cast<const Raw*>(args.index)[outer.at]);
  if (position >= 0)
    return args.source[outer.turn * args.outer_stride + position * args.axis_stride + row.at];
  return fill.data != nullptr ? fill.data[row.at] : fill.chunk<std::byte>(row.at);
}

/// out[o, i] = source[o, index[i]]. A block takes kWords aligned words of out a thread: it copies
/// the words that hold them to shared memory, as they lie in the source, and writes them from there
/// as they lie in out. Words that out fills only in part are moved by bytes.
template <class Raw, int kWords>
__global__ void gather_staged_kernel(const __grid_constant__ StagedArgs args,
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
    const Turn::Place first = args.bytes.locate(begin);
    const auto parts = static_cast<int>(args.bytes.advance(first, bytes - 1).turn - first.turn) + 1;
    auto* const part = reinterpret_cast<Part*>(shared_words());
    const StagedTile<Raw> tile{args,  bounds, fill, first,
                               bytes, parts,  part, shared_words() + parts};
    tile.locate_all();
    __syncthreads();
    tile.stage();
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const auto t = static_cast<int>(k * blockDim.x + threadIdx.x) * 16;
      if (t < bytes) store_once(reinterpret_cast<uint4*>(args.out + begin + t), tile.word(t));
    }
  }
  // The bytes in front of the first whole word and behind the last one, by the first block.
  if (blockIdx.x != 0 || threadIdx.x >= 32) return;
  const std::int64_t edge = threadIdx.x < 16 ? threadIdx.x : back + threadIdx.x - 16;
  if (edge < (threadIdx.x < 16 ? front : args.total))
    args.out[edge] = out_byte(args, bounds, fill, edge);
}

}  // namespace gpukern::gpu

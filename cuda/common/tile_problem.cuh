// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How the host divides arrays into the tiles of threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "cuda/common/thread_tiles.cuh"
#include "cuda/common/warp.cuh"

namespace gpukern::gpu {

/// What tiles are made of: the last operand of the loop, the output, is in the order of memory.
template <int kOperands>
struct TileProblem {
  Loop<kOperands> loop;
  std::byte* data[kOperands];
  std::int64_t item;

  [[nodiscard]] int innermost() const { return loop.ndim - 1; }

  /// Whether the operand's elements are adjacent in a dimension.
  [[nodiscard]] bool adjacent(int operand, int dimension) const {
    return dimension >= 0 && loop.stride[operand][dimension] == item;
  }
  /// Whether they are adjacent in that dimension, and several that are not adjacent in the
  /// innermost.
  [[nodiscard]] bool transposed(int operand, int dimension) const {
    return adjacent(operand, dimension) && !adjacent(operand, innermost()) &&
           loop.stride[operand][innermost()] != 0;
  }

  /// Whether kernels whose threads have single elements are faster: of one dimension, and where a
  /// large part of the tiles would be empty, unless they would read a long transposed dimension
  /// element by element.
  /// Measured: benchmarks/notes/saxpy.md#short-rows.
  [[nodiscard]] bool prefers_elements() const {
    constexpr std::int64_t kFew = std::int64_t{4} << 20;  // short elements fill words of more
    constexpr std::int64_t kShortest = 8;
    constexpr std::int64_t kShort = 64;
    const std::int64_t columns = loop.extent[innermost()];
    if (loop.ndim < 2) return item >= 4 || columns < kFew;
    const bool is_short =
        columns < kShortest || (columns < kShort && columns * item % kWordBytes != 0);
    if (!is_short || item == 1 || loop.extent[innermost() - 1] < kShort) return is_short;
    for (int k = 0; k < kOperands - 1; ++k)
      if (transposed(k, innermost() - 1)) return false;
    return true;
  }

  /// The dimension of the rows of tiles: one of at least `least` positions in which an input is
  /// transposed, or else the longest; -1 if there is none.
  [[nodiscard]] int row_dimension(std::int64_t least) const {
    int longest = -1;
    for (int d = innermost() - 1; d >= 0; --d) {
      for (int k = 0; k < kOperands - 1; ++k)
        if (loop.extent[d] >= least && transposed(k, d)) return d;
      if (longest < 0 || loop.extent[d] > loop.extent[longest]) longest = d;
    }
    return longest;
  }

  /// The alignment of an operand's elements, but for those along one dimension.
  [[nodiscard]] std::int64_t alignment_beside(int operand, int dimension) const {
    std::int64_t bits = reinterpret_cast<std::intptr_t>(data[operand]);
    for (int d = 0; d < loop.ndim; ++d)
      if (d != dimension) bits |= loop.stride[operand][d];
    return alignment_of(bits);
  }

  template <class T>
  [[nodiscard]] TileAccess access_of(int operand, int rows) const {
    const auto in_lines = [&](int dimension, std::int64_t line) {
      return adjacent(operand, dimension) && alignment_beside(operand, dimension) >= line;
    };
    constexpr std::int64_t kElement = alignof(T);
    const bool is_input = operand < kOperands - 1;
    const bool repeated = is_input && loop.stride[operand][innermost()] == 0;
    if (in_lines(innermost(), alignof(Vector<T, kTileColumns<T>>))) return TileAccess::Row;
    if (is_input && !repeated && in_lines(rows, alignof(Vector<T, kTileRows<T>>)))
      return TileAccess::Column;
    if (alignment_beside(operand, -1) < kElement) return TileAccess::Byte;
    return repeated ? TileAccess::Repeated : TileAccess::Element;
  }

  /// The elements [first, first + rows * columns) of one dimension, as rows.
  [[nodiscard]] TileProblem folded(std::int64_t first, std::int64_t rows,
                                   std::int64_t columns) const {
    TileProblem part = *this;
    std::array<std::int64_t, kOperands> step{};
    std::array<std::int64_t, kOperands> row{};
    for (std::size_t k = 0; k < kOperands; ++k) {
      step[k] = loop.stride[k][0];
      row[k] = columns * step[k];
      part.data[k] += first * step[k];
    }
    part.loop.ndim = 0;
    if (rows > 1) part.loop.push(rows, row);
    part.loop.push(columns, step);
    return part;
  }
};

/// The number of bits of the numbers of that many threads, `most` at most.
inline int bits_for(std::int64_t threads, int most) {
  return std::min<int>(std::bit_width(static_cast<std::uint64_t>(threads - 1)), most);
}

/// Fewer bits, if rows of `across` tiles leave a large part of the threads without one.
inline int fitting_bits(std::int64_t across, int bits) {
  constexpr int kLeast = 4;
  const auto threads = [across](int of) {
    return ceil_divide(across, std::int64_t{1} << of) << of;
  };
  int best = bits;
  for (int fewer = bits - 1; fewer >= kLeast; --fewer)
    if (4 * threads(fewer) <= 3 * threads(best)) best = fewer;
  return best;
}

template <class T, int kOperands>
ThreadTiles<kOperands> tiles_of(const TileProblem<kOperands>& problem) {
  constexpr int kInputs = kOperands - 1;
  const Loop<kOperands>& loop = problem.loop;
  const int innermost = problem.innermost();
  const int rows = problem.row_dimension(kTileRows<T>);
  ThreadTiles<kOperands> tiles{};
  tiles.rows = rows < 0 ? 1 : loop.extent[rows];
  tiles.columns = loop.extent[innermost];
  for (int d = 0; d < innermost; ++d) {
    if (d == rows) continue;
    std::array<std::int64_t, kOperands> strides{};
    for (std::size_t k = 0; k < kOperands; ++k) strides[k] = loop.stride[k][d];
    tiles.outer.push(loop.extent[d], strides);
  }
  for (int k = 0; k < kOperands; ++k)
    tiles.operand[k] = {problem.data[k], rows < 0 ? 0 : loop.stride[k][rows],
                        loop.stride[k][innermost], problem.template access_of<T>(k, rows)};
  const std::int64_t across = ceil_divide(tiles.columns, kTileColumns<T>);
  const std::int64_t down = ceil_divide(tiles.rows, kTileRows<T>);
  const bool may_stage =
      kMayStage<T> && 2 * across >= kStagedAcross && 2 * tiles.rows >= kStagedRows<T>;
  tiles.interleaved = tiles.operand[kInputs].access != TileAccess::Row;
  for (int k = 0; k < kInputs; ++k) {
    if (!problem.transposed(k, rows)) continue;
    tiles.has_transposed = true;
    const TileAccess access = tiles.operand[k].access;
    const bool by_elements =
        access == TileAccess::Element || (access == TileAccess::Column && tiles.interleaved);
    tiles.staged = tiles.staged || (may_stage && by_elements);
  }
  tiles.interleaved = tiles.interleaved || tiles.staged;
  for (int k = 0; k < kOperands; ++k) {
    TileAccess& access = tiles.operand[k].access;
    if (!tiles.interleaved || access == TileAccess::Repeated || access == TileAccess::Byte)
      continue;
    const bool staged = tiles.staged && k < kInputs && problem.transposed(k, rows);
    access = staged ? TileAccess::Staged : TileAccess::Element;
  }
  // With a transposed operand, a warp covers whole sectors of both, as far as it has rows.
  constexpr int kStagedBits = std::bit_width(kStagedAcross - 1U);
  const int lane_y_bits = tiles.has_transposed ? bits_for(down, tiles.interleaved ? 2 : 3) : 0;
  const int warp_x_bits = tiles.has_transposed && tiles.interleaved ? 1 : 3;
  tiles.lane_x_bits = tiles.staged ? kStagedBits : bits_for(across, 5 - lane_y_bits);
  tiles.x_bits = tiles.staged ? kStagedBits : bits_for(across, tiles.lane_x_bits + warp_x_bits);
  if (!tiles.has_transposed) tiles.x_bits = fitting_bits(across, tiles.x_bits);
  tiles.lane_x_bits = std::min(tiles.lane_x_bits, tiles.x_bits);
  // Where the rows are few, a large block would have many threads without a tile.
  tiles.threads = kThreads;
  while (!tiles.staged && tiles.threads > kWarp && tiles.threads / 2 >> tiles.x_bits >= down)
    tiles.threads /= 2;
  const std::int64_t blocks_across = ceil_divide(across, std::int64_t{1} << tiles.x_bits);
  const std::int64_t blocks_down = ceil_divide(down, std::int64_t{tiles.threads >> tiles.x_bits});
  tiles.blocks_across = FastDivmod<std::int64_t>(blocks_across);
  tiles.blocks_down = FastDivmod<std::int64_t>(blocks_down);
  tiles.blocks = blocks_across * blocks_down * tiles.outer.count();
  return tiles;
}

/// Calls run(problem) for a loop of several dimensions, for one as rows: a single one would leave
/// most of a thread's tile empty.
template <int kOperands, class Run>
void visit_folded(const TileProblem<kOperands>& problem, const Run& run) {
  constexpr std::int64_t kRow = 1024;
  constexpr std::int64_t kFoldedFrom = 64 * kRow;
  const std::int64_t count = problem.loop.extent[0];
  if (problem.loop.ndim > 1 || count < kFoldedFrom) return run(problem);
  run(problem.folded(0, count / kRow, kRow));
  if (const std::int64_t rest = count % kRow; rest > 0) run(problem.folded(count - rest, 1, rest));
}

}  // namespace gpukern::gpu

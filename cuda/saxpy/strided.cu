// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "cuda/saxpy/strided.cuh"
#include "cuda/saxpy/strided.hpp"
#include "src/core/dtype.hpp"

namespace gpukern::gpu {
namespace {

/// Whether the operand's elements are adjacent in a dimension.
bool adjacent(const SaxpyArgs& args, int operand, int dimension) {
  return dimension >= 0 && args.loop.stride[operand][dimension] == args.item;
}

/// Whether they are adjacent in that dimension, and several that are not adjacent in the innermost.
bool transposed(const SaxpyArgs& args, int operand, int dimension) {
  const int innermost = args.loop.ndim - 1;
  return adjacent(args, operand, dimension) && !adjacent(args, operand, innermost) &&
         args.loop.stride[operand][innermost] != 0;
}

/// The dimension of the rows of tiles: one of at least that many in which an operand is transposed,
/// or else the longest; -1 if there is none.
int row_dimension(const SaxpyArgs& args, std::int64_t least) {
  const int innermost = args.loop.ndim - 1;
  int longest = -1;
  for (int d = innermost - 1; d >= 0; --d) {
    for (int k = 0; k < 2; ++k)
      if (args.loop.extent[d] >= least && transposed(args, k, d)) return d;
    if (longest < 0 || args.loop.extent[d] > args.loop.extent[longest]) longest = d;
  }
  return longest;
}

/// The alignment of an operand's elements, but for those along one dimension.
std::int64_t alignment_beside(const SaxpyArgs& args, int operand, const std::byte* data,
                              int dimension) {
  std::int64_t bits = reinterpret_cast<std::intptr_t>(data);
  for (int d = 0; d < args.loop.ndim; ++d)
    if (d != dimension) bits |= args.loop.stride[operand][d];
  return alignment_of(bits);
}

template <class T>
TileAccess access_of(const SaxpyArgs& args, int operand, const std::byte* data, int rows) {
  const int innermost = args.loop.ndim - 1;
  const auto in_lines = [&](int dimension, std::int64_t line) {
    return adjacent(args, operand, dimension) &&
           alignment_beside(args, operand, data, dimension) >= line;
  };
  constexpr std::int64_t kElement = alignof(T);
  if (in_lines(innermost, alignof(Vector<T, kTileColumns<T>>))) return TileAccess::Row;
  if (operand < 2 && in_lines(rows, alignof(Vector<T, kTileRows<T>>))) return TileAccess::Column;
  if (alignment_beside(args, operand, data, -1) < kElement) return TileAccess::Byte;
  const bool repeated = operand < 2 && args.loop.stride[operand][innermost] == 0;
  return repeated ? TileAccess::Repeated : TileAccess::Element;
}

constexpr int kStagedBits = std::bit_width(kStagedAcross - 1U);

int bits_for(std::int64_t threads, int most) {
  return std::min<int>(std::bit_width(static_cast<std::uint64_t>(threads - 1)), most);
}

template <class T>
ThreadTiles tiles_of(const SaxpyArgs& args) {
  const Loop<3>& loop = args.loop;
  const int innermost = loop.ndim - 1;
  const int rows = row_dimension(args, kTileRows<T>);
  std::byte* const data[] = {const_cast<std::byte*>(args.x), const_cast<std::byte*>(args.y),
                             args.out};
  ThreadTiles tiles{};
  tiles.rows = rows < 0 ? 1 : loop.extent[rows];
  tiles.columns = loop.extent[innermost];
  for (int d = 0; d < innermost; ++d)
    if (d != rows)
      tiles.outer.push(loop.extent[d], {loop.stride[0][d], loop.stride[1][d], loop.stride[2][d]});
  for (int k = 0; k < 3; ++k)
    tiles.operand[k] = {data[k], rows < 0 ? 0 : loop.stride[k][rows], loop.stride[k][innermost],
                        access_of<T>(args, k, data[k], rows)};
  const std::int64_t across = ceil_divide(tiles.columns, kTileColumns<T>);
  const std::int64_t down = ceil_divide(tiles.rows, kTileRows<T>);
  const bool may_stage =
      kMayStage<T> && 2 * across >= kStagedAcross && 2 * tiles.rows >= kStagedRows<T>;
  bool has_transposed = false;
  for (int k = 0; k < 2; ++k) {
    const bool is_transposed = transposed(args, k, rows);
    has_transposed = has_transposed || is_transposed;
    tiles.staged = tiles.staged ||
                   (is_transposed && may_stage && tiles.operand[k].access == TileAccess::Element);
  }
  tiles.interleaved = tiles.staged || tiles.operand[2].access != TileAccess::Row;
  for (int k = 0; k < 3; ++k) {
    TileAccess& access = tiles.operand[k].access;
    if (!tiles.interleaved || access == TileAccess::Repeated || access == TileAccess::Byte)
      continue;
    const bool staged = tiles.staged && k < 2 && transposed(args, k, rows);
    access = staged ? TileAccess::Staged : TileAccess::Element;
  }
  // With a transposed operand, a warp covers whole sectors of both, as far as it has rows.
  const int lane_y_bits = has_transposed ? bits_for(down, tiles.interleaved ? 2 : 3) : 0;
  const int warp_x_bits = has_transposed && tiles.interleaved ? 1 : 3;
  tiles.lane_x_bits = tiles.staged ? kStagedBits : bits_for(across, 5 - lane_y_bits);
  tiles.x_bits = tiles.staged ? kStagedBits : bits_for(across, tiles.lane_x_bits + warp_x_bits);
  const std::int64_t blocks_across = ceil_divide(across, std::int64_t{1} << tiles.x_bits);
  const std::int64_t blocks_down = ceil_divide(down, std::int64_t{kThreads >> tiles.x_bits});
  tiles.blocks_across = FastDivmod<std::int64_t>(blocks_across);
  tiles.blocks_down = FastDivmod<std::int64_t>(blocks_down);
  tiles.blocks = blocks_across * blocks_down * tiles.outer.count();
  return tiles;
}

template <class T>
void launch_tiles(const SaxpyArgs& args, cudaStream_t stream) {
  T a;
  std::memcpy(&a, args.a, sizeof(T));
  const ThreadTiles tiles = tiles_of<T>(args);
  const auto kernel =
      tiles.staged ? saxpy_tiles_kernel<T, kMayStage<T>> : saxpy_tiles_kernel<T, false>;
  launch(kernel, tiles.blocks, stream, tiles, a);
}

/// The elements [first, first + rows * columns) of one dimension, as rows.
SaxpyArgs folded(const SaxpyArgs& args, std::int64_t first, std::int64_t rows,
                 std::int64_t columns) {
  const auto [x, y, out] =
      std::array{args.loop.stride[0][0], args.loop.stride[1][0], args.loop.stride[2][0]};
  SaxpyArgs part = args;
  part.x += first * x;
  part.y += first * y;
  part.out += first * out;
  part.loop.ndim = 0;
  if (rows > 1) part.loop.push(rows, {columns * x, columns * y, columns * out});
  part.loop.push(columns, {x, y, out});
  return part;
}

}  // namespace

void saxpy_strided(const SaxpyArgs& args, cudaStream_t stream) {
  // One row would leave most of a thread's square empty.
  constexpr std::int64_t kRow = 1024;
  constexpr std::int64_t kFoldedFrom = 64 * kRow;
  const std::int64_t count = args.loop.extent[0];
  visit_saxpy_dtype(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (args.loop.ndim > 1 || count < kFoldedFrom) return launch_tiles<T>(args, stream);
    launch_tiles<T>(folded(args, 0, count / kRow, kRow), stream);
    if (const std::int64_t rest = count % kRow; rest > 0)
      launch_tiles<T>(folded(args, count - rest, 1, rest), stream);
  });
}

}  // namespace gpukern::gpu

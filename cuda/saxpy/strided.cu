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

/// The dimension of the rows of squares: one that fills them, in which elements are adjacent that
/// are not in the innermost one, or else the longest; -1 if there is none.
int row_dimension(const SaxpyArgs& args, std::int64_t side) {
  const int innermost = args.loop.ndim - 1;
  int longest = -1;
  for (int d = innermost - 1; d >= 0; --d) {
    for (int k = 0; k < 2; ++k)
      if (args.loop.extent[d] >= side && adjacent(args, k, d) && !adjacent(args, k, innermost))
        return d;
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
SquareAccess access_of(const SaxpyArgs& args, int operand, const std::byte* data, int rows) {
  constexpr std::int64_t kLine = alignof(Vector<T, kSide<T>>);
  const int innermost = args.loop.ndim - 1;
  if (adjacent(args, operand, innermost) &&
      alignment_beside(args, operand, data, innermost) >= kLine)
    return SquareAccess::Row;
  if (operand < 2 && adjacent(args, operand, rows) &&
      alignment_beside(args, operand, data, rows) >= kLine)
    return SquareAccess::Column;
  constexpr std::int64_t kElement = alignof(T);
  return alignment_beside(args, operand, data, -1) >= kElement ? SquareAccess::Element
                                                               : SquareAccess::Byte;
}

int bits_for(std::int64_t threads, int most) {
  return std::min<int>(std::bit_width(static_cast<std::uint64_t>(threads - 1)), most);
}

template <class T>
Squares squares_of(const SaxpyArgs& args) {
  const Loop<3>& loop = args.loop;
  const int innermost = loop.ndim - 1;
  const int rows = row_dimension(args, kSide<T>);
  std::byte* const data[] = {const_cast<std::byte*>(args.x), const_cast<std::byte*>(args.y),
                             args.out};
  Squares squares{};
  squares.rows = rows < 0 ? 1 : loop.extent[rows];
  squares.columns = loop.extent[innermost];
  for (int d = 0; d < innermost; ++d)
    if (d != rows)
      squares.outer.push(loop.extent[d], {loop.stride[0][d], loop.stride[1][d], loop.stride[2][d]});
  bool has_columns = false;
  for (int k = 0; k < 3; ++k) {
    squares.operand[k] = {data[k], rows < 0 ? 0 : loop.stride[k][rows], loop.stride[k][innermost],
                          access_of<T>(args, k, data[k], rows)};
    has_columns = has_columns || squares.operand[k].access == SquareAccess::Column;
  }
  // With a transposed operand, a warp covers whole sectors of both, as far as it has rows.
  const std::int64_t across = ceil_divide(squares.columns, kSide<T>);
  const int lane_y_bits = has_columns ? bits_for(ceil_divide(squares.rows, kSide<T>), 3) : 0;
  squares.lane_x_bits = bits_for(across, 5 - lane_y_bits);
  squares.x_bits = bits_for(across, squares.lane_x_bits + std::bit_width(kThreads / 32U) - 1);
  const std::int64_t side = kSide<T>;
  const std::int64_t blocks_across = ceil_divide(squares.columns, side << squares.x_bits);
  const std::int64_t blocks_down = ceil_divide(squares.rows, side * (kThreads >> squares.x_bits));
  squares.blocks_across = FastDivmod<std::int64_t>(blocks_across);
  squares.blocks_down = FastDivmod<std::int64_t>(blocks_down);
  squares.blocks = blocks_across * blocks_down * squares.outer.count();
  return squares;
}

template <class T>
void launch_squares(const SaxpyArgs& args, cudaStream_t stream) {
  T a;
  std::memcpy(&a, args.a, sizeof(T));
  const Squares squares = squares_of<T>(args);
  launch(saxpy_squares_kernel<T>, squares.blocks, stream, squares, a);
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
    if (args.loop.ndim > 1 || count < kFoldedFrom) return launch_squares<T>(args, stream);
    launch_squares<T>(folded(args, 0, count / kRow, kRow), stream);
    if (const std::int64_t rest = count % kRow; rest > 0)
      launch_squares<T>(folded(args, count - rest, 1, rest), stream);
  });
}

}  // namespace gpukern::gpu

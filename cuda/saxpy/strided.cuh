// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy of operands in any layout. A thread computes a square of elements in two dimensions: its
// columns follow the innermost dimension of out, its rows another one. Where the elements of an
// operand are adjacent in a row, or, as in a transposed operand, in a column, they are accessed
// together.
#pragma once

#include "cuda/common/fast_divmod.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/saxpy/math.cuh"

namespace gpukern::gpu {

/// Rows and columns of a square: a word each, or fewer for the registers' sake. Measured:
/// benchmarks/notes/saxpy.md#layouts.
template <class T>
inline constexpr int kSide = kPerWord<T> < 4 ? kPerWord<T> : 4;

/// The elements that are accessed together.
enum class SquareAccess { Row, Column, Element, Byte };

struct SquareOperand {
  std::byte* data;
  std::int64_t row;     ///< stride, as `column`
  std::int64_t column;  ///< of the innermost dimension of out
  SquareAccess access;
};

/// A thread block has `1 << x_bits` threads side by side; its warps have `1 << lane_x_bits`.
struct Squares {
  SquareOperand operand[3];
  std::int64_t rows;
  std::int64_t columns;
  Loop<3> outer;  ///< the other dimensions
  FastDivmod<std::int64_t> blocks_across;
  FastDivmod<std::int64_t> blocks_down;
  int lane_x_bits;
  int x_bits;
  std::int64_t blocks;
};

/// Where a thread's square is; it is smaller at the ends of the dimensions.
struct SquarePlace {
  std::int64_t row;
  std::int64_t column;
  int rows;
  int columns;
};

template <class T>
__device__ SquarePlace place_of(const Squares& squares, std::int64_t block_row,
                                std::int64_t block_column) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_x_bits = squares.x_bits - squares.lane_x_bits;
  const int x = ((warp & ((1 << warp_x_bits) - 1)) << squares.lane_x_bits) +
                (lane & ((1 << squares.lane_x_bits) - 1));
  const int y =
      ((warp >> warp_x_bits) * (32 >> squares.lane_x_bits)) + (lane >> squares.lane_x_bits);
  const std::int64_t row = (block_row * (kThreads >> squares.x_bits) + y) * kSide<T>;
  const std::int64_t column = ((block_column << squares.x_bits) + x) * kSide<T>;
  constexpr std::int64_t kMost = kSide<T>;
  return {row, column, static_cast<int>(min(squares.rows - row, kMost)),
          static_cast<int>(min(squares.columns - column, kMost))};
}

/// Calls visit(address, row, column) for each element of a square.
template <class T, class Visit>
__device__ void visit_elements(const SquareOperand& of, std::byte* at, const SquarePlace& place,
                               const Visit& visit) {
#pragma unroll
  for (int r = 0; r < kSide<T>; ++r)
#pragma unroll
    for (int c = 0; c < kSide<T>; ++c)
      if (r < place.rows && c < place.columns) visit(at + r * of.row + c * of.column, r, c);
}

template <class T>
__device__ void load_square(const SquareOperand& of, std::byte* at, const SquarePlace& place,
                            T (&square)[kSide<T>][kSide<T>]) {
  constexpr int kCount = kSide<T>;
  using Line = Vector<T, kCount>;
  if (of.access == SquareAccess::Row && place.columns == kCount) {
#pragma unroll
    for (int r = 0; r < kCount; ++r) {
      if (r >= place.rows) continue;
      const Line line = *reinterpret_cast<const Line*>(at + r * of.row);
#pragma unroll
      for (int c = 0; c < kCount; ++c) square[r][c] = line.element[c];
    }
  } else if (of.access == SquareAccess::Column && place.rows == kCount) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      if (c >= place.columns) continue;
      const Line line = *reinterpret_cast<const Line*>(at + c * of.column);
#pragma unroll
      for (int r = 0; r < kCount; ++r) square[r][c] = line.element[r];
    }
  } else if (of.access != SquareAccess::Byte) {
    visit_elements<T>(of, at, place, [&](const std::byte* from, int r, int c) {
      square[r][c] = *reinterpret_cast<const T*>(from);
    });
  } else {
    visit_elements<T>(of, at, place, [&](const std::byte* from, int r, int c) {
      square[r][c] = load_unaligned<T>(from);
    });
  }
}

template <class T>
__device__ void store_square(const SquareOperand& of, std::byte* at, const SquarePlace& place,
                             const T (&square)[kSide<T>][kSide<T>]) {
  constexpr int kCount = kSide<T>;
  using Line = Vector<T, kCount>;
  if (of.access == SquareAccess::Row && place.columns == kCount) {
#pragma unroll
    for (int r = 0; r < kCount; ++r) {
      if (r >= place.rows) continue;
      Line line;
#pragma unroll
      for (int c = 0; c < kCount; ++c) line.element[c] = square[r][c];
      *reinterpret_cast<Line*>(at + r * of.row) = line;
    }
  } else if (of.access != SquareAccess::Byte) {
    visit_elements<T>(of, at, place, [&](std::byte* to, int r, int c) {
      *reinterpret_cast<T*>(to) = square[r][c];
    });
  } else {
    visit_elements<T>(of, at, place,
                      [&](std::byte* to, int r, int c) { store_unaligned(to, square[r][c]); });
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    saxpy_squares_kernel(const __grid_constant__ Squares squares, T a) {
  const auto across = squares.blocks_across.divmod(blockIdx.x);
  const auto down = squares.blocks_down.divmod(across.quotient);
  const SquarePlace place = place_of<T>(squares, down.remainder, across.remainder);
  if (place.rows <= 0 || place.columns <= 0) return;
  std::int64_t offset[3];
  unravel(squares.outer, static_cast<std::uint32_t>(down.quotient), offset);
  std::byte* at[3];
#pragma unroll
  for (int k = 0; k < 3; ++k)
    at[k] = squares.operand[k].data + offset[k] + place.row * squares.operand[k].row +
            place.column * squares.operand[k].column;
  T x[kSide<T>][kSide<T>];
  T y[kSide<T>][kSide<T>];
  load_square(squares.operand[0], at[0], place, x);
  load_square(squares.operand[1], at[1], place, y);
#pragma unroll
  for (int r = 0; r < kSide<T>; ++r)
#pragma unroll
    for (int c = 0; c < kSide<T>; ++c) multiply_add(a, x[r][c], y[r][c], y[r][c]);
  store_square(squares.operand[2], at[2], place, y);
}

}  // namespace gpukern::gpu

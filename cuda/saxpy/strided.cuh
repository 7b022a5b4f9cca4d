// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy of operands in any layout. A thread computes a tile of elements in two dimensions: its
// columns follow the innermost dimension of out, its rows another one. Where the elements of an
// operand are adjacent in a row, or, as in a transposed operand, in a column, they are accessed
// together.
#pragma once

#include <type_traits>

#include "cuda/common/fast_divmod.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/saxpy/math.cuh"

namespace gpukern::gpu {

/// Columns of a tile: a word. Rows: as many, or fewer for the registers' sake. Measured:
/// benchmarks/notes/saxpy.md#layouts.
template <class T>
inline constexpr int kTileColumns = kPerWord<T>;
template <class T>
inline constexpr int kTileRows = kPerWord<T> < 4 ? kPerWord<T> : 4;

/// The elements that are accessed together. All of a row are one where the operand repeats them;
/// the elements of a transposed operand that cannot be accessed together are staged in shared
/// memory.
enum class TileAccess { Row, Column, Repeated, Staged, Element, Byte };

/// Whether those of a type are: a few longer ones fill a sector.
template <class T>
inline constexpr bool kMayStage = sizeof(T) <= 4;
/// Threads side by side in a block that stages operands.
inline constexpr int kStagedAcross = 32;
template <class T>
inline constexpr int kStagedRows = kThreads / kStagedAcross * kTileRows<T>;
template <class T>
inline constexpr int kStagedColumns = kStagedAcross * kTileColumns<T>;

struct TileOperand {
  std::byte* data;
  std::int64_t row;     ///< stride, as `column`
  std::int64_t column;  ///< of the innermost dimension of out
  TileAccess access;
};

/// A thread block has `1 << x_bits` threads side by side; its warps have `1 << lane_x_bits`.
struct ThreadTiles {
  TileOperand operand[3];
  std::int64_t rows;
  std::int64_t columns;
  Loop<3> outer;  ///< the other dimensions
  FastDivmod<std::int64_t> blocks_across;
  FastDivmod<std::int64_t> blocks_down;
  int lane_x_bits;
  int x_bits;
  /// The elements of a thread are as far apart as the block has threads, so that those of
  /// neighbouring threads are neighbours: for an out whose rows are accessed by elements.
  bool interleaved;
  bool staged;  ///< operands; `x_bits` and `lane_x_bits` are those of kStagedAcross
  std::int64_t blocks;
};

/// Where a thread's tile is; it has fewer rows and columns at the ends of the dimensions.
struct TilePlace {
  std::int64_t row;
  std::int64_t column;
  int rows;
  int columns;
  int row_step;  ///< from one row of the tile to the next
  int column_step;
};

template <class T>
__device__ TilePlace place_of(const ThreadTiles& tiles, std::int64_t block_row,
                              std::int64_t block_column) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_x_bits = tiles.x_bits - tiles.lane_x_bits;
  const int x = ((warp & ((1 << warp_x_bits) - 1)) << tiles.lane_x_bits) +
                (lane & ((1 << tiles.lane_x_bits) - 1));
  const int y = ((warp >> warp_x_bits) * (32 >> tiles.lane_x_bits)) + (lane >> tiles.lane_x_bits);
  const int across = 1 << tiles.x_bits;
  const int down = kThreads >> tiles.x_bits;
  TilePlace place{};
  place.row_step = tiles.interleaved ? down : 1;
  place.column_step = tiles.interleaved ? across : 1;
  place.row = block_row * down * kTileRows<T> + y * (tiles.interleaved ? 1 : kTileRows<T>);
  place.column =
      block_column * across * kTileColumns<T> + x * (tiles.interleaved ? 1 : kTileColumns<T>);
  const auto left = [](std::int64_t end, std::int64_t first, int step, int most) {
    const std::int64_t whole = std::int64_t{most} * step;
    const auto rest = static_cast<int>(min(end - first, whole));
    return (rest + step - 1) / step;
  };
  place.rows = left(tiles.rows, place.row, place.row_step, kTileRows<T>);
  place.columns = left(tiles.columns, place.column, place.column_step, kTileColumns<T>);
  return place;
}

/// Calls visit(address, row, column) for each element of a tile.
template <class T, class Visit>
__device__ void visit_elements(const TileOperand& of, std::byte* at, const TilePlace& place,
                               const Visit& visit) {
  const std::int64_t row = of.row * place.row_step;
  const std::int64_t column = of.column * place.column_step;
#pragma unroll
  for (int r = 0; r < kTileRows<T>; ++r)
#pragma unroll
    for (int c = 0; c < kTileColumns<T>; ++c)
      if (r < place.rows && c < place.columns) visit(at + r * row + c * column, r, c);
}

/// The same, with the address of another element in place of those that are not in the tile: loads
/// that depend on no condition are in flight together.
template <class T, class Visit>
__device__ void visit_all_elements(const TileOperand& of, std::byte* at, const TilePlace& place,
                                   const Visit& visit) {
  const std::int64_t row = of.row * place.row_step;
  const std::int64_t column = of.column * place.column_step;
#pragma unroll
  for (int r = 0; r < kTileRows<T>; ++r)
#pragma unroll
    for (int c = 0; c < kTileColumns<T>; ++c)
      visit(at + min(r, place.rows - 1) * row + min(c, place.columns - 1) * column, r, c);
}

/// A tile in registers. Elements of 16 bits are kept in pairs, as they come from memory: to take
/// one out waits for its load.
template <class T>
class Tile {
 public:
  /// Issues the loads of all elements.
  __device__ void load(const TileOperand& of, std::byte* at, const TilePlace& place) {
    if (of.access == TileAccess::Row && place.columns == kColumns) {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        if (r < place.rows) load_parts<kColumns>(at + r * of.row, part_ + r * kColumns / kPerPart);
    } else if (of.access == TileAccess::Column && place.rows == kRows) {
      by_columns_ = true;
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        if (c < place.columns) load_parts<kRows>(at + c * of.column, part_ + c * kRows / kPerPart);
    } else if (of.access == TileAccess::Repeated) {
      repeated_ = true;
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        if (r < place.rows)
          part_[r] = Part{*reinterpret_cast<const Bits*>(at + r * of.row * place.row_step)};
    } else if (of.access != TileAccess::Byte) {
      visit_all_elements<T>(of, at, place, [&](const std::byte* from, int r, int c) {
        set(r, c, *reinterpret_cast<const T*>(from));
      });
    } else {
      visit_all_elements<T>(of, at, place, [&](const std::byte* from, int r, int c) {
        set(r, c, load_unaligned<T>(from));
      });
    }
  }

  /// Puts the elements in the order of rows.
  __device__ void arrange() {
    Part loaded[kParts];
#pragma unroll
    for (int p = 0; p < kParts; ++p) loaded[p] = part_[p];
    if (by_columns_) {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int c = 0; c < kColumns; c += kPerPart) {
          const Part& first = loaded[(c * kRows + r) / kPerPart];
          Part& part = part_[(r * kColumns + c) / kPerPart];
          if constexpr (kPerPart == 1)
            part = first;
          else  // the low or the high half of each
            part = __byte_perm(first, loaded[((c + 1) * kRows + r) / kPerPart],
                               r % 2 == 0 ? 0x5410 : 0x7632);
        }
    } else if (repeated_) {
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        const Part& value = loaded[p * kPerPart / kColumns];
        if constexpr (kPerPart == 1)
          part_[p] = value;
        else
          part_[p] = __byte_perm(value, 0, 0x1010);
      }
    }
  }

  /// this = a * x + this
  __device__ void add_product(T a, const Tile& x) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const auto factor = bits_as<Vector<T, kPerPart>>(x.part_[p]);
      auto sum = bits_as<Vector<T, kPerPart>>(part_[p]);
#pragma unroll
      for (int i = 0; i < kPerPart; ++i)
        multiply_add(a, factor.element[i], sum.element[i], sum.element[i]);
      part_[p] = bits_as<Part>(sum);
    }
  }

  __device__ void store(const TileOperand& of, std::byte* at, const TilePlace& place) const {
    if (of.access == TileAccess::Row && place.columns == kColumns) {
      using Line = Vector<T, kColumns>;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= place.rows) continue;
        Line line;
        std::memcpy(&line, part_ + r * kColumns / kPerPart, sizeof(Line));
        *reinterpret_cast<Line*>(at + r * of.row) = line;
      }
    } else if (of.access != TileAccess::Byte) {
      visit_elements<T>(of, at, place, [&](std::byte* to, int r, int c) {
        *reinterpret_cast<T*>(to) = get(r, c);
      });
    } else {
      visit_elements<T>(of, at, place,
                        [&](std::byte* to, int r, int c) { store_unaligned(to, get(r, c)); });
    }
  }

 private:
  static constexpr int kRows = kTileRows<T>;
  static constexpr int kColumns = kTileColumns<T>;
  static constexpr int kPerPart = sizeof(T) == 2 ? 2 : 1;
  static constexpr int kParts = kRows * kColumns / kPerPart;
  using Part = std::conditional_t<kPerPart == 2, unsigned, T>;
  using Bits = std::conditional_t<kPerPart == 2, std::uint16_t, T>;

  template <int kCount>
  __device__ static void load_parts(const std::byte* from, Part* to) {
    const auto line = *reinterpret_cast<const Vector<T, kCount>*>(from);
    std::memcpy(to, &line, sizeof(line));
  }

  __device__ T get(int r, int c) const {
    const int at = r * kColumns + c;
    return bits_as<Vector<T, kPerPart>>(part_[at / kPerPart]).element[at % kPerPart];
  }
  __device__ void set(int r, int c, T value) {
    const int at = r * kColumns + c;
    auto part = bits_as<Vector<T, kPerPart>>(part_[at / kPerPart]);
    part.element[at % kPerPart] = value;
    part_[at / kPerPart] = bits_as<Part>(part);
  }

  Part part_[kParts]{};
  bool by_columns_ = false;
  bool repeated_ = false;
};

/// The elements of a block's tiles in shared memory, column after column.
template <class T>
struct StagedTiles {
  static constexpr int kPitch = kStagedRows<T> + (sizeof(T) < 4 ? 2 : 1);  ///< no bank conflicts
  alignas(16) std::byte bytes[kPitch * kStagedColumns<T> * sizeof(T)];

  /// Copies them from the first one, at `from`; `rows` and `columns` of the operand follow there.
  __device__ void copy(const TileOperand& of, const std::byte* from, std::int64_t rows,
                       std::int64_t columns) {
    constexpr int kCount = kTileRows<T> * kTileColumns<T>;
    const int row = static_cast<int>(threadIdx.x) % kStagedRows<T>;
    const int column = static_cast<int>(threadIdx.x) / kStagedRows<T>;
    constexpr int kStep = kThreads / kStagedRows<T>;
    T value[kCount];
    const std::int64_t last = columns - 1;
    from += min(std::int64_t{row}, rows - 1) * of.row;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      value[i] = *reinterpret_cast<const T*>(from + min(std::int64_t{column} + i * kStep, last) *
                                                        of.column);
    T* const to = reinterpret_cast<T*>(bytes) + column * kPitch + row;
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i * kStep * kPitch] = value[i];
  }

  /// This memory as an operand, and the address of the thread's first element.
  __device__ TileOperand operand() {
    return {bytes, sizeof(T), kPitch * sizeof(T), TileAccess::Element};
  }
  __device__ std::byte* own() {
    const unsigned column = threadIdx.x % kStagedAcross;
    const unsigned row = threadIdx.x / kStagedAcross;
    return bytes + (column * kPitch + row) * sizeof(T);
  }
};

/// On a multiprocessor, as the registers allow.
template <class T, bool kStaged>
inline constexpr int kTileBlocks = kStaged             ? 3
                                   : kTileRows<T> == 4 ? 4
                                                       : 6;

template <class T, bool kStaged>
__global__ void __launch_bounds__(kThreads, resident_blocks(kTileBlocks<T, kStaged>, kThreads))
    saxpy_tiles_kernel(const __grid_constant__ ThreadTiles tiles, T a) {
  const auto across = tiles.blocks_across.divmod(blockIdx.x);
  const auto down = tiles.blocks_down.divmod(across.quotient);
  const TilePlace place = place_of<T>(tiles, down.remainder, across.remainder);
  std::int64_t offset[3];
  unravel(tiles.outer, static_cast<std::uint32_t>(down.quotient), offset);
  const auto address = [&](int k, std::int64_t row, std::int64_t column) {
    const TileOperand& of = tiles.operand[k];
    return of.data + offset[k] + row * of.row + column * of.column;
  };
  Tile<T> tile[2];
  const bool empty = place.rows <= 0 || place.columns <= 0;
  if (!kStaged && empty) return;
#pragma unroll
  for (int k = 0; k < 2; ++k)
    if (!empty && (!kStaged || tiles.operand[k].access != TileAccess::Staged))
      tile[k].load(tiles.operand[k], address(k, place.row, place.column), place);
  if constexpr (kStaged) {
    __shared__ StagedTiles<T> staged[2];
    const std::int64_t row = down.remainder * kStagedRows<T>;
    const std::int64_t column = across.remainder * kStagedColumns<T>;
    for (int k = 0; k < 2; ++k)
      if (tiles.operand[k].access == TileAccess::Staged)
        staged[k].copy(tiles.operand[k], address(k, row, column), tiles.rows - row,
                       tiles.columns - column);
    __syncthreads();
    if (empty) return;
#pragma unroll
    for (int k = 0; k < 2; ++k)
      if (tiles.operand[k].access == TileAccess::Staged)
        tile[k].load(staged[k].operand(), staged[k].own(), place);
  }
  tile[0].arrange();
  tile[1].arrange();
  tile[1].add_product(a, tile[0]);
  tile[1].store(tiles.operand[2], address(2, place.row, place.column), place);
}

}  // namespace gpukern::gpu

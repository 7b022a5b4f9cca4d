// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Element-wise kernels of operands in any layout. A thread has a tile of elements in two
// dimensions: its columns follow the innermost dimension of the output, its rows another one. Where
// the elements of an operand are adjacent in a row, or, as in a transposed operand, in a column,
// they are accessed together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/common/fast_divmod.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"

namespace gpukern::gpu {

/// Columns of a tile: a word. Rows: as many, or fewer for the registers' sake. Measured:
/// benchmarks/notes/saxpy.md#layouts.
template <class T>
inline constexpr int kTileColumns = kPerWord<T>;
template <class T>
inline constexpr int kTileRows = kPerWord<T> < 4 ? kPerWord<T> : 4;

enum class TileAccess {
  Row,       ///< adjacent elements of a row together
  Column,    ///< of a column
  Repeated,  ///< one element for all of a row
  Staged,    ///< transposed, by way of shared memory
  Element,
  Byte
};

/// Whether operands of a type may be staged. Longer elements fill sectors without it.
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

/// A thread block has `threads`, `1 << x_bits` side by side; its warps have `1 << lane_x_bits`. The
/// last operand is the output.
template <int kOperands>
struct ThreadTiles {
  TileOperand operand[kOperands];
  std::int64_t rows;
  std::int64_t columns;
  Loop<kOperands> outer;  ///< the other dimensions
  FastDivmod<std::int64_t> blocks_across;
  FastDivmod<std::int64_t> blocks_down;
  int threads;
  int lane_x_bits;
  int x_bits;
  /// The elements of a thread are as far apart as the block has threads, so that those of
  /// neighbouring threads are neighbours: for an out whose rows are accessed by elements.
  bool interleaved;
  bool has_transposed;  ///< operands
  bool staged;          ///< operands; `x_bits` and `lane_x_bits` are those of kStagedAcross
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

template <class T, int kOperands>
__device__ TilePlace place_of(const ThreadTiles<kOperands>& tiles, std::int64_t block_row,
                              std::int64_t block_column) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_x_bits = tiles.x_bits - tiles.lane_x_bits;
  const int x = ((warp & ((1 << warp_x_bits) - 1)) << tiles.lane_x_bits) +
                (lane & ((1 << tiles.lane_x_bits) - 1));
  const int y = ((warp >> warp_x_bits) * (32 >> tiles.lane_x_bits)) + (lane >> tiles.lane_x_bits);
  const int across = 1 << tiles.x_bits;
  const int down = tiles.threads >> tiles.x_bits;
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

/// Calls visit(address, row, column) for each element of a tile. With kAll also for those beyond
/// it, with the address of another one: loads that depend on no condition are in flight together.
template <class T, bool kAll, class Visit>
__device__ void visit_elements(const TileOperand& of, std::byte* at, const TilePlace& place,
                               const Visit& visit) {
  const std::int64_t row = of.row * place.row_step;
  const std::int64_t column = of.column * place.column_step;
#pragma unroll
  for (int r = 0; r < kTileRows<T>; ++r)
#pragma unroll
    for (int c = 0; c < kTileColumns<T>; ++c) {
      const int near_r = kAll ? min(r, place.rows - 1) : r;
      const int near_c = kAll ? min(c, place.columns - 1) : c;
      if (kAll || (r < place.rows && c < place.columns))
        visit(at + near_r * row + near_c * column, r, c);
    }
}

/// A tile in registers. Elements below 32 bits are kept in words, as they come from memory: to take
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
      visit_elements<T, true>(of, at, place, [&](const std::byte* from, int r, int c) {
        set(r, c, *reinterpret_cast<const T*>(from));
      });
    } else {
      visit_elements<T, true>(of, at, place, [&](const std::byte* from, int r, int c) {
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
          else
            part = row_part(loaded + (c * kRows + r) / kPerPart, r % kPerPart);
        }
    } else if (repeated_) {
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        const Part& value = loaded[p * kPerPart / kColumns];
        if constexpr (kPerPart == 1)
          part_[p] = value;
        else
          part_[p] = __byte_perm(value, 0, kPerPart == 2 ? 0x1010 : 0);
      }
    }
  }

  /// Calls function(elements of others..., element of this one) for all.
  template <class Function, class... Tiles>
  __device__ void update(const Function& function, const Tiles&... others) {
    using Elements = Vector<T, kPerPart>;
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      auto own = bits_as<Elements>(part_[p]);
#pragma unroll
      for (int i = 0; i < kPerPart; ++i)
        function(bits_as<Elements>(others.part_[p]).element[i]..., own.element[i]);
      part_[p] = bits_as<Part>(own);
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
      visit_elements<T, false>(of, at, place, [&](std::byte* to, int r, int c) {
        *reinterpret_cast<T*>(to) = get(r, c);
      });
    } else {
      visit_elements<T, false>(
          of, at, place, [&](std::byte* to, int r, int c) { store_unaligned(to, get(r, c)); });
    }
  }

 private:
  static constexpr int kRows = kTileRows<T>;
  static constexpr int kColumns = kTileColumns<T>;
  static constexpr int kPerPart = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  static constexpr int kParts = kRows * kColumns / kPerPart;
  using Part = std::conditional_t<(kPerPart > 1), unsigned, T>;
  using Bits =
      std::conditional_t<(kPerPart > 1), typename Word<sizeof(T) < 4 ? sizeof(T) : 1>::Type, T>;

  /// Element r of the parts of as many columns, which are kRows elements apart.
  __device__ static unsigned row_part(const Part* column, int r) {
    constexpr int kStep = kRows / kPerPart;
    if constexpr (kPerPart == 2)
      return __byte_perm(column[0], column[kStep], r == 0 ? 0x5410 : 0x7632);
    const unsigned pair = static_cast<unsigned>(r | (4 + r) << 4);
    return __byte_perm(__byte_perm(column[0], column[kStep], pair),
                       __byte_perm(column[2 * kStep], column[3 * kStep], pair), 0x5410);
  }

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
  static constexpr int kPitch = kStagedRows<T> + 4 / sizeof(T);  ///< no bank conflicts
  alignas(16) std::byte bytes[kPitch * kStagedColumns<T> * sizeof(T)];

  /// Copies the elements of the block, from `from` on. The operand ends after `rows` rows and
  /// `columns` columns.
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

/// Blocks on a multiprocessor: more would spill many registers.
template <class T, bool kStaged>
inline constexpr int kTileBlocks = kStaged             ? 3
                                   : kTileRows<T> == 4 ? 4
                                                       : 6;

/// A thread's part of a kernel.
template <class T, int kOperands, bool kStaged>
class TileWork {
 public:
  static constexpr int kInputs = kOperands - 1;

  __device__ explicit TileWork(const ThreadTiles<kOperands>& tiles)
      : tiles_(tiles),
        across_(tiles.blocks_across.divmod(blockIdx.x)),
        down_(tiles.blocks_down.divmod(across_.quotient)),
        place_(place_of<T>(tiles, down_.remainder, across_.remainder)) {
    unravel(tiles.outer, static_cast<std::uint32_t>(down_.quotient), offset_);
  }

  /// Loads the tile of each input. Returns false if it has no elements. All threads of the block
  /// call this.
  __device__ bool load(Tile<T> (&tile)[kInputs]) {
    const bool empty = place_.rows <= 0 || place_.columns <= 0;
    if (!kStaged && empty) return false;
#pragma unroll
    for (int k = 0; k < kInputs; ++k)
      if (!empty && (!kStaged || tiles_.operand[k].access != TileAccess::Staged))
        tile[k].load(tiles_.operand[k], address(k, place_.row, place_.column), place_);
    if constexpr (kStaged) {
      __shared__ StagedTiles<T> staged[kInputs];
      const std::int64_t row = down_.remainder * kStagedRows<T>;
      const std::int64_t column = across_.remainder * kStagedColumns<T>;
      for (int k = 0; k < kInputs; ++k)
        if (tiles_.operand[k].access == TileAccess::Staged)
          staged[k].copy(tiles_.operand[k], address(k, row, column), tiles_.rows - row,
                         tiles_.columns - column);
      __syncthreads();
      if (empty) return false;
#pragma unroll
      for (int k = 0; k < kInputs; ++k)
        if (tiles_.operand[k].access == TileAccess::Staged)
          tile[k].load(staged[k].operand(), staged[k].own(), place_);
    }
#pragma unroll
    for (int k = 0; k < kInputs; ++k) tile[k].arrange();
    return true;
  }

  __device__ void store(const Tile<T>& tile) const {
    tile.store(tiles_.operand[kInputs], address(kInputs, place_.row, place_.column), place_);
  }

 private:
  __device__ std::byte* address(int k, std::int64_t row, std::int64_t column) const {
    const TileOperand& of = tiles_.operand[k];
    return of.data + offset_[k] + row * of.row + column * of.column;
  }

  const ThreadTiles<kOperands>& tiles_;
  Divmod<std::int64_t> across_;
  Divmod<std::int64_t> down_;
  TilePlace place_;
  std::int64_t offset_[kOperands];
};

}  // namespace gpukern::gpu

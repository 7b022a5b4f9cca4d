// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "src/cpu/cache.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/long_runs.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// Rows and columns of a tile of a transposition: a cache line of each, on both sides.
template <class Width>
constexpr std::int64_t kTileSide = kCacheLine / static_cast<std::int64_t>(Width{});

/// The dimension in which the items of the source are adjacent, where they are far apart in the
/// innermost one, in which those of the destination are adjacent; -1 if there is none or tiles
/// would be mostly empty.
int transposed_dimension(const CopyArgs& args, std::int64_t side) {
  const Loop<2>& loop = args.loop;
  const int inner = loop.ndim - 1;
  if (inner < 1 || loop.stride[1][inner] != args.item || loop.extent[inner] < side) return -1;
  if (std::abs(loop.stride[0][inner]) <= args.item) return -1;
  for (int d = inner - 1; d >= 0; --d)
    if (loop.stride[0][d] == args.item && loop.extent[d] >= side) return d;
  return -1;
}

/// Copies a tile: items adjacent in the source's columns to rows. Each cache line of both is
/// accessed once, also where the lines of a tile have one place in the cache.
template <class Width>
void copy_tile(const std::byte* from, std::int64_t column_step, std::byte* to,
               std::int64_t row_step, std::int64_t rows, std::int64_t columns, Width width) {
  constexpr auto kItem = static_cast<std::int64_t>(Width{});
  alignas(kCacheLine) std::array<std::byte, kTileSide<Width> * kCacheLine> tile;
  const auto turn = [&](std::int64_t high, std::int64_t wide) {
    for (std::int64_t c = 0; c < wide; ++c)
      for (std::int64_t r = 0; r < high; ++r)
        std::memcpy(tile.data() + r * kCacheLine + c * kItem, from + c * column_step + r * kItem,
                    width);
    for (std::int64_t r = 0; r < high; ++r)
      std::memcpy(to + r * row_step, tile.data() + r * kCacheLine,
                  static_cast<std::size_t>(wide * kItem));
  };
  if (rows >= kTileSide<Width> && columns >= kTileSide<Width>)
    turn(kTileSide<Width>, kTileSide<Width>);  // constants, so that the loops are unrolled
  else
    turn(std::min(rows, kTileSide<Width>), std::min(columns, kTileSide<Width>));
}

/// Copies by tiles of the innermost dimension and dimension `down`.
template <class Width>
void copy_transposed(const CopyArgs& args, int down, Width width) {
  constexpr std::int64_t kSide = kTileSide<Width>;
  const Loop<2>& loop = args.loop;
  const int inner = loop.ndim - 1;
  Loop<2> tiles;  // of the other dimensions, then down, then across
  for (int d = 0; d < inner; ++d)
    if (d != down) tiles.push(loop.extent[d], {loop.stride[0][d], loop.stride[1][d]});
  for (const int d : {down, inner})
    tiles.push((loop.extent[d] + kSide - 1) / kSide,
               {kSide * loop.stride[0][d], kSide * loop.stride[1][d]});
  const std::int64_t across = tiles.extent[tiles.ndim - 1];
  const std::int64_t down_tiles = tiles.extent[tiles.ndim - 2];
  parallel_for(
      tiles.count(), grain_of(kSide * kCacheLine), [&](std::int64_t begin, std::int64_t end) {
        std::int64_t number = begin;
        for_each_run(tiles, begin, end, [&](const auto& offset, std::int64_t length) {
          const std::int64_t row = number / across % down_tiles * kSide;
          for (std::int64_t t = 0; t < length; ++t, ++number) {
            const std::int64_t column = number % across * kSide;
            copy_tile(args.source + offset[0] + t * run_stride(tiles, 0), loop.stride[0][inner],
                      args.destination + offset[1] + t * run_stride(tiles, 1), loop.stride[1][down],
                      loop.extent[down] - row, loop.extent[inner] - column, width);
          }
        });
      });
}

/// Calls visit(width) as visit_width() does if such items fit a tile's lines.
template <class Visit>
bool visit_short_width(std::int64_t item, const Visit& visit) {
  constexpr std::int64_t kLongest = 16;
  if (item > kLongest) return false;
  bool done = false;
  visit_width(item, [&]<class Width>(Width width) {
    if constexpr (!std::is_same_v<Width, std::size_t>)
      if constexpr (Width{} <= kLongest) done = visit(width);
  });
  return done;
}

}  // namespace

void copy(const CopyArgs& args) {
  const Loop<2>& loop = args.loop;
  if (has_short_rows(loop, args.item)) {
    CopyArgs rows = args;
    join_short_rows(rows.loop, rows.item);
    return copy(rows);
  }
  // Bytes that are contiguous on both sides are divided among the threads at any position.
  if (loop.contiguous(0, args.item) && loop.contiguous(1, args.item)) {
    parallel_for(loop.count() * args.item, std::int64_t{256} << 10,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(args.destination + begin, args.source + begin,
                               static_cast<std::size_t>(end - begin));
                 });
    return;
  }
  if (visit_short_width(args.item, [&]<class Width>(Width width) {
        const int down = transposed_dimension(args, kTileSide<Width>);
        if (down >= 0) copy_transposed(args, down, width);
        return down >= 0;
      }))
    return;
  parallel_runs(args, grain_of(args.item), [&](const CopyArgs& ordered, const auto& each_run) {
    const std::int64_t from_step = run_stride(ordered.loop, 0);
    const std::int64_t to_step = run_stride(ordered.loop, 1);
    visit_width(args.item, [&](auto width) {
      each_run([&](const auto& offset, std::int64_t length) {
        copy_items(args.source + offset[0], from_step, args.destination + offset[1], to_step,
                   length, width);
      });
    });
  });
}

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "cuda/runtime/kernels.hpp"
#include "cuda/saxpy/axpby.cuh"
#include "cuda/saxpy/axpby_numbers.hpp"
#include "cuda/saxpy/axpby_tiles.hpp"
#include "cuda/saxpy/axpby_words.hpp"

namespace gpukern::gpu {
namespace {

/// The dimension, other than the innermost one, in which elements of an input are adjacent that are
/// not in the innermost one, as in a transposed array; -1 if there is none.
int transposed_dimension(const AxpbyArgs& args) {
  constexpr std::int64_t kLeastRows = 16;  // with fewer, most of a tile is empty
  const int innermost = args.loop.ndim - 1;
  for (int k = kFactorOfX; k < kResult; ++k) {
    const AxpbyArgs::Operand& of = args.operand[static_cast<std::size_t>(k)];
    if (!of.in_memory) continue;
    const std::int64_t item = size_of(of.type);
    const std::int64_t step = args.loop.stride[k][innermost];
    for (int d = 0; d < innermost; ++d)
      if (args.loop.extent[d] >= kLeastRows && args.loop.stride[k][d] == item && step != item &&
          step != 0)
        return d;
  }
  return -1;
}

/// How the elements of a line are accessed.
LineAccess access_of(const AxpbyArgs& args, int k, int line) {
  const AxpbyArgs::Operand& of = args.operand[static_cast<std::size_t>(k)];
  if (!of.in_memory) return LineAccess::Value;
  const int innermost = args.loop.ndim - 1;
  const std::int64_t item = size_of(of.type);
  const std::int64_t step = args.loop.stride[k][innermost];
  std::int64_t bits = reinterpret_cast<std::intptr_t>(of.data);
  for (int d = 0; d < innermost; ++d) bits |= args.loop.stride[k][d];
  if (alignment_of(bits | step) < item) return LineAccess::Bytes;
  if (step == 0) return LineAccess::Repeated;
  const std::int64_t together = std::min<std::int64_t>(line * item, kWordBytes);
  return step == item && alignment_of(bits) >= together ? LineAccess::Line : LineAccess::Elements;
}

/// The dimension of the rows of a tile: a transposed one, or else the longest but the innermost
/// one; -1 if there is no other.
int row_dimension(const AxpbyArgs& args) {
  if (const int transposed = transposed_dimension(args); transposed >= 0) return transposed;
  int longest = -1;
  for (int d = 0; d < args.loop.ndim - 1; ++d)
    if (longest < 0 || args.loop.extent[d] > args.loop.extent[longest]) longest = d;
  return longest;
}

/// The operands and their strides in the innermost dimension.
template <class Compute>
LineProblem<Compute> line_problem(const AxpbyArgs& args, int line) {
  LineProblem<Compute> problem;
  const int innermost = args.loop.ndim - 1;
  for (int k = 0; k <= kPosition; ++k)
    problem.column_stride[k] = problem.element_stride[k] = args.loop.stride[k][innermost];
  for (int k = 0; k <= kResult; ++k) {
    const AxpbyArgs::Operand& of = args.operand[static_cast<std::size_t>(k)];
    problem.operand[k] = {of.data, static_cast<Compute>(of.value), access_of(args, k, line),
                          of.type};
  }
  problem.columns = args.loop.extent[innermost];
  problem.line_columns = line;
  problem.between_bits = 0;
  problem.first = args.first;
  problem.seed = args.seed;
  problem.stochastic = args.stochastic;
  return problem;
}

/// Makes lines of elements that are as far apart as a tile has threads side by side.
template <class Compute>
void interleave(LineProblem<Compute>& problem) {
  problem.line_columns = 1;
  problem.between_bits = problem.x_bits;
  for (auto& stride : problem.element_stride) stride <<= problem.x_bits;
  for (auto& operand : problem.operand)
    if (operand.access == LineAccess::Line) operand.access = LineAccess::Elements;
}

/// Rows of which a tile has several in each dimension, and most of its threads none.
bool has_short_lines(const Loop<kPosition + 1>& loop) {
  constexpr std::int64_t kShort = 64;
  return loop.ndim > 1 && loop.extent[loop.ndim - 1] < kShort;
}

/// Returns false if there are too many lines.
template <class Compute, int kCount>
bool launch_short_lines(const AxpbyArgs& args, cudaStream_t stream) {
  Loop<kPosition + 1> lines = args.loop;
  const int innermost = lines.ndim - 1;
  lines.extent[innermost] = ceil_divide(lines.extent[innermost], kCount);
  for (auto& strides : lines.stride) strides[innermost] *= kCount;
  const std::int64_t count = lines.count();
  if (!FastLoop<kPosition + 1>::holds(lines)) return false;
  launch(axpby_short_lines_kernel<Compute, kCount>,
         {ceil_divide(count, kThreads), kThreads, 0, true}, stream,
         line_problem<Compute>(args, kCount), FastLoop<kPosition + 1>(lines),
         static_cast<std::uint32_t>(count));
  return true;
}

template <class Compute>
bool run_short_lines(const AxpbyArgs& args, cudaStream_t stream) {
  // Elements that are stored one by one: of longer lines, those of a warp are in more sectors.
  const bool is_pair = std::is_same_v<Compute, double> || args.loop.extent[args.loop.ndim - 1] <= 2;
  return is_pair ? launch_short_lines<Compute, 2>(args, stream)
                 : launch_short_lines<Compute, 4>(args, stream);
}

template <class Compute, int kCount>
void launch_lines(const AxpbyArgs& args, cudaStream_t stream) {
  LineProblem<Compute> problem = line_problem<Compute>(args, kCount);
  const Loop<6>& loop = args.loop;
  const int innermost = loop.ndim - 1;
  const int rows = row_dimension(args);
  for (int k = 0; k <= kPosition; ++k) problem.row_stride[k] = rows < 0 ? 0 : loop.stride[k][rows];
  problem.rows = rows < 0 ? 1 : loop.extent[rows];
  for (int d = 0; d < innermost; ++d) {
    if (d == rows) continue;
    std::array<std::int64_t, kPosition + 1> strides{};
    for (int k = 0; k <= kPosition; ++k) strides[static_cast<std::size_t>(k)] = loop.stride[k][d];
    problem.outer.push(loop.extent[d], strides);
  }
  // With a transposed operand, a tile has as many columns as rows, and so whole sectors of both.
  constexpr int kTransposedBits = 3;
  const std::int64_t lines = ceil_divide(problem.columns, kCount);
  const int most = std::bit_width(kThreads - 1U);
  problem.x_bits = transposed_dimension(args) >= 0
                       ? kTransposedBits
                       : std::min<int>(std::bit_width(static_cast<std::uint64_t>(lines - 1)), most);
  // Random bits are drawn for adjacent elements.
  if (problem.operand[kResult].access != LineAccess::Line && !args.stochastic) interleave(problem);
  const std::int64_t tile_columns = std::int64_t{kCount} << problem.x_bits;
  const std::int64_t tile_rows = kThreads >> problem.x_bits;
  const std::int64_t tiles = ceil_divide(problem.columns, tile_columns) *
                             ceil_divide(problem.rows, tile_rows) * problem.outer.count();
  // Several, so that a thread finds its place once for all; of a few, each has its own block.
  constexpr int kTiles = 4;
  problem.tiles = tiles >= kTiles * resident_grid() ? kTiles : 1;
  const bool downwards = problem.rows >= problem.tiles * tile_rows;
  problem.tile_columns = static_cast<int>(downwards ? 0 : tile_columns);
  problem.tile_rows = static_cast<int>(downwards ? tile_rows : 0);
  problem.block_columns = downwards ? tile_columns : tile_columns * problem.tiles;
  problem.block_rows = downwards ? tile_rows * problem.tiles : tile_rows;
  for (int k = 0; k <= kPosition; ++k)
    problem.tile_stride[k] =
        problem.tile_columns * problem.column_stride[k] + problem.tile_rows * problem.row_stride[k];
  const std::int64_t across = ceil_divide(problem.columns, problem.block_columns);
  const std::int64_t down = ceil_divide(problem.rows, problem.block_rows);
  problem.blocks_across = FastDivmod<std::int64_t>(across);
  problem.blocks_down = FastDivmod<std::int64_t>(down);
  launch(axpby_kernel<Compute, kCount>, {across * down * problem.outer.count(), kThreads, 0, true},
         stream, problem);
}

}  // namespace

void axpby(const AxpbyArgs& args, cudaStream_t stream) {
  if (axpby_of_numbers(args, stream)) return;
  if (args.loop.ndim == 0) {
    AxpbyArgs line = args;
    line.loop.push(1, {});
    return axpby(line, stream);
  }
  if (axpby_words(args, stream) || axpby_tiles(args, stream)) return;
  if (has_short_lines(args.loop) && (args.is_wide() ? run_short_lines<double>(args, stream)
                                                    : run_short_lines<float>(args, stream)))
    return;
  // The elements of a transposed operand come one by one: fewer make a line.
  const bool transposed = transposed_dimension(args) >= 0;
  if (args.is_wide() && transposed)
    launch_lines<double, 2>(args, stream);
  else if (args.is_wide())
    launch_lines<double, 4>(args, stream);
  else if (transposed)
    launch_lines<float, 4>(args, stream);
  else
    launch_lines<float, 8>(args, stream);
}

Strategy axpby_strategy(const AxpbyArgs& args) {
  return {.path = args.contiguous() ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED};
}

}  // namespace gpukern::gpu

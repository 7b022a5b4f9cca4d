// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bit>

#include "cuda/runtime/kernels.hpp"
#include "cuda/saxpy/axpby.cuh"

namespace gpukern::gpu {
namespace {

/// The dimension, other than the innermost one, in which elements of an input are adjacent that are
/// not in the innermost one, as in a transposed array; -1 if there is none.
int transposed_dimension(const AxpbyArgs& args) {
  const int innermost = args.loop.ndim - 1;
  for (int k = kFactorOfX; k < kResult; ++k) {
    const AxpbyArgs::Operand& of = args.operand[static_cast<std::size_t>(k)];
    if (!of.in_memory) continue;
    const auto is_adjacent = [&](int d) { return args.loop.stride[k][d] == size_of(of.type); };
    for (int d = 0; d < innermost; ++d)
      if (is_adjacent(d) && !is_adjacent(innermost)) return d;
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

template <class Compute, int kCount>
void launch_lines(const AxpbyArgs& args, cudaStream_t stream) {
  LineProblem<Compute> problem;
  const Loop<6>& loop = args.loop;
  const int innermost = loop.ndim - 1;
  const int rows = row_dimension(args);
  for (int k = 0; k <= kPosition; ++k) {
    problem.column_stride[k] = loop.stride[k][innermost];
    problem.row_stride[k] = rows < 0 ? 0 : loop.stride[k][rows];
  }
  for (int k = 0; k <= kResult; ++k) {
    const AxpbyArgs::Operand& of = args.operand[static_cast<std::size_t>(k)];
    problem.operand[k] = {of.data, static_cast<Compute>(of.value), access_of(args, k, kCount),
                          of.type};
  }
  problem.columns = loop.extent[innermost];
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
  const std::int64_t across = ceil_divide(lines, std::int64_t{1} << problem.x_bits);
  const std::int64_t down = ceil_divide(problem.rows, kThreads >> problem.x_bits);
  problem.tiles_across = FastDivmod<std::int64_t>(across);
  problem.tiles_down = FastDivmod<std::int64_t>(down);
  problem.first = args.first;
  problem.seed = args.seed;
  problem.stochastic = args.stochastic;
  launch(axpby_kernel<Compute, kCount>, {across * down * problem.outer.count(), kThreads, 0, true},
         stream, problem);
}

}  // namespace

void axpby(const AxpbyArgs& args, cudaStream_t stream) {
  if (args.loop.ndim == 0) {
    AxpbyArgs line = args;
    line.loop.push(1, {});
    return axpby(line, stream);
  }
  // A line is a word of the type of the arithmetic, or of a narrower output.
  if (args.is_wide())
    launch_lines<double, 2>(args, stream);
  else if (size_of(args.operand[kResult].type) == 2 && transposed_dimension(args) < 0)
    launch_lines<float, 8>(args, stream);
  else
    launch_lines<float, 4>(args, stream);
}

Strategy axpby_strategy(const AxpbyArgs& args) {
  return {.path = args.contiguous() ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED};
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kInFlight = kTileInFlight;
constexpr std::int64_t kTileItems = std::int64_t{kThreads} * kInFlight;

/// A matrix of positions, or several of them. Strips of `width` columns follow one another, and the
/// rows of a strip. By operand, without the fill value.
struct TileArgs {
  const std::byte* source = nullptr;
  const std::byte* index = nullptr;
  std::byte* out = nullptr;
  std::int64_t matrix[3]{};  ///< strides
  std::int64_t row[3]{};
  std::int64_t column[3]{};
  std::int64_t axis_stride = 0;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t strips = 1;  ///< of a matrix
  std::int64_t tiles = 1;   ///< of a strip
  FastDivmod<std::int64_t> width;
  std::int64_t strip_columns = 1;
};

template <class W, class Raw>
__global__ void __launch_bounds__(kThreads)
    gather_tiles_kernel(const __grid_constant__ TileArgs args,
                        const __grid_constant__ Bounds<Raw> bounds,
                        const __grid_constant__ Fill fill) {
  const std::int64_t strip_number = blockIdx.x / args.tiles;
  const std::int64_t tile = blockIdx.x - strip_number * args.tiles;
  const std::int64_t matrix = strip_number / args.strips;
  const std::int64_t first_column = (strip_number - matrix * args.strips) * args.strip_columns;
  const auto begin = args.width.divmod(tile * kTileItems);
  std::int64_t row[kInFlight];
  std::int64_t column[kInFlight];
  Raw raw[kInFlight];
  std::int64_t position[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const auto at = args.width.advance(begin, threadIdx.x + k * kThreads);
    row[k] = at.quotient;
    column[k] = first_column + at.remainder;
    raw[k] = 0;
    if (row[k] < args.rows && column[k] < args.columns)
      raw[k] = *reinterpret_cast<const Raw*>(args.index + matrix * args.matrix[kIndex] +
                                             row[k] * args.row[kIndex] +
                                             column[k] * args.column[kIndex]);
  }
  bounds.positions(raw, position);
  W item[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (row[k] >= args.rows || column[k] >= args.columns) continue;
    const std::byte* const from = args.source + matrix * args.matrix[kSource] +
                                  row[k] * args.row[kSource] + column[k] * args.column[kSource] +
                                  position[k] * args.axis_stride;
    item[k] = position[k] < 0 ? fill.word<W>(0) : __ldg(reinterpret_cast<const W*>(from));
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (row[k] >= args.rows || column[k] >= args.columns) continue;
    std::byte* const to = args.out + matrix * args.matrix[kOut] + row[k] * args.row[kOut] +
                          column[k] * args.column[kOut];
    __stcs(reinterpret_cast<W*>(to), item[k]);
  }
}

std::int64_t distance(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// Where neighbouring columns are nearer in the source than positions on the axis, a strip reads a
/// part of each row of the source: a number of columns whose parts stay in the L2 cache, but whole
/// sectors.
std::int64_t strip_columns(const GatherArgs& args, std::int64_t columns, std::int64_t column_stride,
                           std::int64_t axis_stride) {
  constexpr std::int64_t kSector = 32;
  constexpr std::int64_t kMost = 256;
  const std::int64_t apart = distance(column_stride);
  if (apart == 0 || apart >= distance(axis_stride)) return columns;
  std::int64_t width = kMost;
  while (width * apart > kSector && args.n * width * apart > device_facts().l2_bytes / 8)
    width /= 2;
  return std::min(width, columns);
}

}  // namespace

void run_tiles(const GatherLaunch& call) {
  const GatherArgs& args = call.problem.args;
  const Loop<4> loop = in_memory_order(args.loop);
  TileArgs tiles;
  tiles.source = args.source;
  tiles.index = args.index;
  tiles.out = args.out;
  std::int64_t extent[3] = {1, 1, 1};
  std::int64_t (*const strides[3])[3] = {&tiles.matrix, &tiles.row, &tiles.column};
  for (int d = 0; d < loop.ndim; ++d) {
    const int level = d + 3 - loop.ndim;
    extent[level] = loop.extent[d];
    for (int k = 0; k < 3; ++k) (*strides[level])[k] = loop.stride[k][d];
  }
  tiles.axis_stride = args.axis.ndim == 1 ? args.axis.stride[0][0] : 0;
  tiles.rows = extent[1];
  tiles.columns = extent[2];
  tiles.strip_columns =
      strip_columns(args, tiles.columns, tiles.column[kSource], tiles.axis_stride);
  tiles.width = FastDivmod<std::int64_t>(tiles.strip_columns);
  tiles.strips = ceil_divide(tiles.columns, tiles.strip_columns);
  tiles.tiles = ceil_divide(tiles.rows * tiles.strip_columns, kTileItems);
  visit_types(call.problem, [&](auto word, auto raw) {
    using Raw = decltype(raw);
    launch(gather_tiles_kernel<decltype(word), Raw>, extent[0] * tiles.strips * tiles.tiles,
           call.stream, tiles, bounds_of<Raw>(args), call.fill);
  });
}

}  // namespace gpukern::gpu

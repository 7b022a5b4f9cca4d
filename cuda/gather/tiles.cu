// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/kernel.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kInFlight = kTileInFlight;
constexpr std::int64_t kTileItems = std::int64_t{kThreads} * kInFlight;

/// A matrix of positions, or several of them. Strips of `strip_columns` columns follow one another,
/// and the rows of a strip. By operand, without the fill value.
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
  std::int64_t strip_columns = 1;
  FastDivmod<std::uint32_t> strips{1};  ///< of a matrix
  FastDivmod<std::uint32_t> tiles{1};   ///< of a strip
  FastDivmod<std::int64_t> width;       ///< of a strip
};

/// The offset of the element `down` rows below another and `right` columns beside it.
__device__ std::int64_t offset_to(const TileArgs& args, int operand, std::uint32_t down,
                                  std::uint32_t right) {
  return std::int64_t{down} * args.row[operand] + std::int64_t{right} * args.column[operand];
}

template <class W, class Raw>
__global__ void __launch_bounds__(kThreads)
    gather_tiles_kernel(const __grid_constant__ TileArgs args,
                        const __grid_constant__ Bounds<Raw> bounds,
                        const __grid_constant__ Fill fill) {
  const auto strip = args.tiles.divmod(blockIdx.x);
  const auto matrix = args.strips.divmod(strip.quotient);
  const std::int64_t first_column = matrix.remainder * args.strip_columns;
  const auto begin = args.width.divmod(strip.remainder * kTileItems);
  std::int64_t base[3];
#pragma unroll
  for (int operand = 0; operand < 3; ++operand)
    base[operand] = matrix.quotient * args.matrix[operand] + begin.quotient * args.row[operand] +
                    first_column * args.column[operand];
  constexpr std::int64_t kMost = ~0U;
  const auto rows = static_cast<std::uint32_t>(min(args.rows - begin.quotient, kMost));
  const auto columns = static_cast<std::uint32_t>(min(args.columns - first_column, kMost));
  std::uint32_t down[kInFlight];
  std::uint32_t right[kInFlight];
  bool exists[kInFlight];
  Raw raw[kInFlight];
  std::int64_t position[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const auto at = args.width.advance({0, begin.remainder}, threadIdx.x + k * kThreads);
    down[k] = static_cast<std::uint32_t>(at.quotient);
    right[k] = static_cast<std::uint32_t>(at.remainder);
    exists[k] = down[k] < rows && right[k] < columns;
    raw[k] = 0;
    if (exists[k])
      raw[k] = *reinterpret_cast<const Raw*>(args.index + base[kIndex] +
                                             offset_to(args, kIndex, down[k], right[k]));
  }
  bounds.positions(raw, position);
  W item[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (!exists[k]) continue;
    const std::byte* const from = args.source + base[kSource] +
                                  offset_to(args, kSource, down[k], right[k]) +
                                  position[k] * args.axis_stride;
    item[k] = position[k] < 0 ? fill.word<W>(0) : __ldg(reinterpret_cast<const W*>(from));
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (exists[k])
      __stcs(reinterpret_cast<W*>(args.out + base[kOut] + offset_to(args, kOut, down[k], right[k])),
             item[k]);
}

std::int64_t distance(std::int64_t stride) { return stride < 0 ? -stride : stride; }

/// Where neighbouring columns are nearer in the source than positions on the axis, a strip reads a
/// part of each row of the source: a number of columns whose parts stay in the L2 cache, but whole
/// sectors of source and out, and more if the index has few rows.
std::int64_t strip_columns(const TileArgs& tiles, std::int64_t n, std::int64_t matrices) {
  constexpr std::int64_t kSector = 32;
  constexpr std::int64_t kMost = 256;
  constexpr std::int64_t kLongest = 1 << 30;  // the kernel counts the columns of a strip in 32 bits
  const std::int64_t apart = distance(tiles.column[kSource]);
  if (apart == 0 || apart >= distance(tiles.axis_stride)) return std::min(tiles.columns, kLongest);
  const std::int64_t blocks = ceil_divide(resident_grid(), matrices);  // of a matrix
  const std::int64_t sector = std::min(apart, distance(tiles.column[kOut]));
  std::int64_t width = kMost;
  while (width > 1 && width / 2 * sector >= kSector &&
         n * width * apart > device_facts().l2_bytes / 8)
    width /= 2;
  // A strip of few rows would leave threads of its tile without an element; but all blocks are to
  // have one.
  while (width * tiles.rows < kTileItems && width * blocks < tiles.columns) width *= 2;
  return tiles.columns < 2 * width ? tiles.columns : width;
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
  tiles.strip_columns = strip_columns(tiles, args.n, extent[0]);
  tiles.width = FastDivmod<std::int64_t>(tiles.strip_columns);
  const std::int64_t strips = ceil_divide(tiles.columns, tiles.strip_columns);
  const std::int64_t tiles_of_strip = ceil_divide(tiles.rows * tiles.strip_columns, kTileItems);
  const std::int64_t blocks = extent[0] * strips * tiles_of_strip;
  require_one_launch(blocks);
  tiles.strips = FastDivmod<std::uint32_t>(static_cast<std::uint32_t>(strips));
  tiles.tiles = FastDivmod<std::uint32_t>(static_cast<std::uint32_t>(tiles_of_strip));
  visit_types(call.problem, [&](auto word, auto raw) {
    using Raw = decltype(raw);
    launch(gather_tiles_kernel<decltype(word), Raw>, blocks, call.stream, tiles,
           bounds_of<Raw>(args), call.fill);
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/tile_problem.cuh"
#include "cuda/saxpy/axpby_tiles.hpp"
#include "cuda/saxpy/math.cuh"
#include "src/core/float16.hpp"

namespace gpukern::gpu {
namespace {

template <class T>
__global__ void __launch_bounds__(kThreads, resident_blocks(kTileBlocks<T, false> - 1, kThreads))
    axpby_tiles_kernel(const __grid_constant__ ThreadTiles<4> tiles, T b) {
  wait_for_previous();
  launch_next();
  TileWork<T, 4, false> work(tiles);
  Tile<T> tile[3];
  if (!work.load(tile)) return;
  tile[2].update([b](T a, T x, T& y) { y = canonical(fused(a, x, rounded_product(b, y))); },
                 tile[0], tile[1]);
  work.store(tile[2]);
}

}  // namespace

bool axpby_tiles(const AxpbyArgs& args, cudaStream_t stream) {
  constexpr AxpbyOperand kOperands[] = {kFactorOfX, kX, kY, kResult};
  const RealType type = args.operand[kResult].type;
  if (size_of(type) < 4 || args.is_wide() != (type == RealType::Float64) ||
      args.operand[kFactorOfY].in_memory || args.contiguous())
    return false;
  TileProblem<4> problem{.loop = {}, .data = {}, .item = size_of(type)};
  for (std::size_t k = 0; k < 4; ++k) {
    const AxpbyArgs::Operand& of = args.operand[kOperands[k]];
    if (!of.in_memory || of.type != type) return false;
    problem.data[k] = of.data;
  }
  for (int d = 0; d < args.loop.ndim; ++d) {
    const auto& stride = args.loop.stride;
    problem.loop.push(args.loop.extent[d],
                      {stride[kFactorOfX][d], stride[kX][d], stride[kY][d], stride[kResult][d]});
  }
  if (problem.prefers_elements()) return false;
  const auto run = [&]<class T>(T) {
    const ThreadTiles<4> tiles = tiles_of<T>(problem);
    if (tiles.has_transposed) return false;
    launch(axpby_tiles_kernel<T>, {tiles.blocks, tiles.threads, 0, true}, stream, tiles,
           static_cast<T>(args.operand[kFactorOfY].value));
    return true;
  };
  return args.is_wide() ? run(0.0) : run(0.0F);
}

}  // namespace gpukern::gpu

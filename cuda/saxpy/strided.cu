// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstring>

#include "cuda/common/tile_problem.cuh"
#include "cuda/saxpy/math.cuh"
#include "cuda/saxpy/strided.hpp"
#include "src/core/dtype.hpp"

namespace gpukern::gpu {
namespace {

template <class T, bool kStaged>
__global__ void __launch_bounds__(kThreads, resident_blocks(kTileBlocks<T, kStaged>, kThreads))
    saxpy_tiles_kernel(const __grid_constant__ ThreadTiles<3> tiles, T a) {
  TileWork<T, 3, kStaged> work(tiles);
  Tile<T> tile[2];
  if (!work.load(tile)) return;
  tile[1].update(tile[0], [a](T x, T& y) { multiply_add(a, x, y, y); });
  work.store(tile[1]);
}

}  // namespace

void saxpy_strided(const SaxpyArgs& args, cudaStream_t stream) {
  const TileProblem<3> problem{
      args.loop,
      {const_cast<std::byte*>(args.x), const_cast<std::byte*>(args.y), args.out},
      args.item};
  visit_saxpy_dtype(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T a;
    std::memcpy(&a, args.a, sizeof(T));
    visit_folded(problem, [&](const TileProblem<3>& part) {
      const ThreadTiles<3> tiles = tiles_of<T>(part);
      const auto kernel =
          tiles.staged ? saxpy_tiles_kernel<T, kMayStage<T>> : saxpy_tiles_kernel<T, false>;
      launch(kernel, tiles.blocks, stream, tiles, a);
    });
  });
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/elements.cuh"
#include "cuda/common/tile_problem.cuh"
#include "cuda/saxpy/strided.hpp"
#include "src/core/dtype.hpp"

namespace gpukern::gpu {
namespace {

template <class T, bool kStaged>
__global__ void __launch_bounds__(kThreads, resident_blocks(kTileBlocks<T, kStaged>, kThreads))
    saxpy_tiles_kernel(const __grid_constant__ ThreadTiles<3> tiles, const Scale<T> scale) {
  wait_for_previous();
  launch_next();
  TileWork<T, 3, kStaged> work(tiles);
  Tile<T> tile[2];
  if (!work.load(tile)) return;
  tile[1].update([scale](T x, T& y) { scale.apply(x, y, y); }, tile[0]);
  work.store(tile[1]);
}

/// Elements that a thread has in flight.
constexpr int kInFlight = 4;

/// Of loops of one dimension or of short rows. Threads past the end load the last elements, too,
/// which their owner may write meanwhile, and do not use them.
template <class T>
__global__ void __launch_bounds__(kThreads)
    saxpy_elements_kernel(const std::byte* x, const std::byte* y, std::byte* out,
                          const __grid_constant__ FastLoop<3> loop, std::uint32_t count,
                          bool aligned, const Scale<T> scale) {
  wait_for_previous();
  launch_next();
  const std::uint32_t first = blockIdx.x * kThreads * kInFlight + threadIdx.x;
  std::uint32_t position[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) position[k] = min(first + k * kThreads, count - 1);
  OffsetsAt<3> at[kInFlight];
  loop.find(position, at);
  T of_x[kInFlight];
  T of_y[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    of_x[k] = load_element<T>(x + at[k].offset[0], aligned);
    of_y[k] = load_element<T>(y + at[k].offset[1], aligned);
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    if (first + k * kThreads >= count) continue;
    T sum;
    scale.apply(of_x[k], of_y[k], sum);
    store_element(out + at[k].offset[2], sum, aligned);
  }
}

template <class T>
void saxpy_elements(const TileProblem<3>& problem, const Scale<T>& scale, cudaStream_t stream) {
  const std::int64_t count = problem.loop.count();
  bool aligned = true;
  for (int k = 0; k < 3; ++k)
    aligned = aligned && problem.alignment_beside(k, -1) >= static_cast<std::int64_t>(alignof(T));
  launch(saxpy_elements_kernel<T>, {ceil_divide(count, kThreads * kInFlight), kThreads, 0, true},
         stream, problem.data[0], problem.data[1], problem.data[2], FastLoop(problem.loop),
         static_cast<std::uint32_t>(count), aligned, scale);
}

}  // namespace

void saxpy_strided(const SaxpyArgs& args, const Factors* factors, cudaStream_t stream) {
  const TileProblem<3> problem{
      args.loop,
      {const_cast<std::byte*>(args.x), const_cast<std::byte*>(args.y), args.out},
      args.item};
  visit_saxpy_dtype(args.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto scale = Scale<T>::of(args.a, factors);
    if (problem.prefers_elements() && FastLoop<3>::holds(args.loop))
      return saxpy_elements(problem, scale, stream);
    visit_folded(problem, [&](const TileProblem<3>& part) {
      const ThreadTiles<3> tiles = tiles_of<T>(part);
      const auto kernel =
          tiles.staged ? saxpy_tiles_kernel<T, kMayStage<T>> : saxpy_tiles_kernel<T, false>;
      launch(kernel, {tiles.blocks, tiles.threads, 0, true}, stream, tiles, scale);
    });
  });
}

}  // namespace gpukern::gpu

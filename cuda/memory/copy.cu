// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/common/tile_problem.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/runtime/kernels.hpp"

namespace gpukern::gpu {
namespace {

/// Words that a thread has in flight.
constexpr int kInFlight = 4;

/// The positions are words; Offsets is FastLoop<2> or LoopOffsets<2>.
template <class W, class Offsets>
__global__ void __launch_bounds__(kThreads)
    copy_words_kernel(const std::byte* source, std::byte* destination,
                      const __grid_constant__ Offsets words, std::int64_t count) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * kInFlight + threadIdx.x;
  OffsetsAt<2> at[kInFlight];
  words.find(Positions<kInFlight>(first, kThreads, count - 1).of, at);
  W word[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    word[k] = *reinterpret_cast<const W*>(source + at[k].offset[0]);
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (first + k * kThreads < count)
      *reinterpret_cast<W*>(destination + at[k].offset[1]) = word[k];
}

/// Of items that are a word each.
template <class T, bool kStaged>
__global__ void __launch_bounds__(kThreads, resident_blocks(kTileBlocks<T, kStaged>, kThreads))
    copy_tiles_kernel(const __grid_constant__ ThreadTiles<2> tiles) {
  TileWork<T, 2, kStaged> work(tiles);
  Tile<T> tile[1];
  if (work.load(tile)) work.store(tile[0]);
}

void copy_tiles(const TileProblem<2>& problem, cudaStream_t stream) {
  visit_word(problem.item, [&]<class T>(T) {
    visit_folded(problem, [&](const TileProblem<2>& part) {
      const ThreadTiles<2> tiles = tiles_of<T>(part);
      const auto kernel =
          tiles.staged ? copy_tiles_kernel<T, kMayStage<T>> : copy_tiles_kernel<T, false>;
      launch(kernel, {tiles.blocks, tiles.threads}, stream, tiles);
    });
  });
}

}  // namespace

void copy(const CopyArgs& args, cudaStream_t stream) {
  const Loop<2>& loop = args.loop;
  if (loop.contiguous(0, args.item) && loop.contiguous(1, args.item)) {
    const auto bytes = static_cast<std::size_t>(loop.count() * args.item);
    check(cudaMemcpyAsync(args.destination, args.source, bytes, cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpyAsync");
    return;
  }
  std::int64_t width = std::min(
      {alignment_of(args.item), alignment_of(args.source), alignment_of(args.destination)});
  for (int d = 0; d < loop.ndim; ++d)
    width = std::min({width, alignment_of(loop.stride[0][d]), alignment_of(loop.stride[1][d])});
  const TileProblem<2> problem{
      loop, {const_cast<std::byte*>(args.source), args.destination}, args.item};
  if (width == args.item && !problem.prefers_elements()) return copy_tiles(problem, stream);
  Loop<2> words = loop;
  if (width < args.item) words.push(args.item / width, {width, width});
  words.coalesce();
  const std::int64_t count = words.count();
  visit_word(width, [&]<class W>(W) {
    const auto copy_by = [&]<class Offsets>(const Offsets& offsets) {
      launch(copy_words_kernel<W, Offsets>, ceil_divide(count, kThreads * kInFlight), stream,
             args.source, args.destination, offsets, count);
    };
    if (FastLoop<2>::holds(words))
      copy_by(FastLoop(words));
    else
      copy_by(LoopOffsets(words));
  });
}

}  // namespace gpukern::gpu

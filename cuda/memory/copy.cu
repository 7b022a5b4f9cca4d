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

/// Each thread moves one word; an item has `words` words.
template <class W, class Offset>
__global__ void __launch_bounds__(kThreads)
    copy_kernel(const CopyArgs args, Offset words, Offset total) {
  const Offset t = Offset{blockIdx.x} * kThreads + threadIdx.x;
  if (t >= total) return;
  const Offset position = t / words;
  const std::int64_t at = static_cast<std::int64_t>(t - position * words) * sizeof(W);
  std::int64_t offset[2];
  unravel(args.loop, position, offset);
  *reinterpret_cast<W*>(args.destination + offset[1] + at) =
      *reinterpret_cast<const W*>(args.source + offset[0] + at);
}

/// As copy_kernel, of positions that are found by multiplication.
template <class W>
__global__ void __launch_bounds__(kThreads)
    copy_elements_kernel(const std::byte* source, std::byte* destination,
                         const __grid_constant__ FastLoop<2> loop, FastDivmod<std::uint32_t> words,
                         std::uint32_t total) {
  const std::uint32_t first = blockIdx.x * kThreads * kInFlight + threadIdx.x;
  W word[kInFlight];
  std::byte* to[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::uint32_t t = min(first + k * kThreads, total - 1);
    const auto position = words.divmod(t);
    const std::int64_t at = std::int64_t{position.remainder} * sizeof(W);
    std::int64_t offset[2];
    unravel(loop, position.quotient, offset);
    word[k] = *reinterpret_cast<const W*>(source + offset[0] + at);
    to[k] = destination + offset[1] + at;
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k)
    if (first + k * kThreads < total) *reinterpret_cast<W*>(to[k]) = word[k];
}

/// Of items that are a word each.
template <class T, bool kStaged>
__global__ void __launch_bounds__(kThreads, resident_blocks(kTileBlocks<T, kStaged>, kThreads))
    copy_tiles_kernel(const __grid_constant__ ThreadTiles<2> tiles) {
  TileWork<T, 2, kStaged> work(tiles);
  Tile<T> tile[1];
  if (work.load(tile)) work.store(tile[0]);
}

void copy_tiles(const CopyArgs& args, cudaStream_t stream) {
  const TileProblem<2> problem{
      args.loop, {const_cast<std::byte*>(args.source), args.destination}, args.item};
  visit_word(args.item, [&]<class T>(T) {
    visit_folded(problem, [&](const TileProblem<2>& part) {
      const ThreadTiles<2> tiles = tiles_of<T>(part);
      const auto kernel =
          tiles.staged ? copy_tiles_kernel<T, kMayStage<T>> : copy_tiles_kernel<T, false>;
      launch(kernel, tiles.blocks, stream, tiles);
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
  if (width == args.item && !has_short_innermost(loop, args.item)) return copy_tiles(args, stream);
  const std::int64_t words = args.item / width;
  const std::int64_t total = loop.count() * words;
  if (FastLoop<2>::holds(loop, total))
    return visit_word(width, [&](auto word) {
      launch(copy_elements_kernel<decltype(word)>, ceil_divide(total, kThreads * kInFlight), stream,
             args.source, args.destination, FastLoop<2>(loop),
             FastDivmod<std::uint32_t>(static_cast<std::uint32_t>(words)),
             static_cast<std::uint32_t>(total));
    });
  visit_word(width, [&](auto word) {
    visit_offset(total, [&](auto offset) {
      using Offset = decltype(offset);
      launch(copy_kernel<decltype(word), Offset>, ceil_divide(total, kThreads), stream, args,
             static_cast<Offset>(words), static_cast<Offset>(total));
    });
  });
}

}  // namespace gpukern::gpu

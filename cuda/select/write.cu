// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "cuda/common/elements.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/select/select.cuh"

namespace gpukern::gpu {
namespace {

/// Where the selected elements of a tile are.
struct Selected {
  const std::uint16_t* bits;
  const std::int64_t* before;
  std::int64_t lead;
  std::int64_t tiles;
  std::int64_t size;
  bool adds_up;  ///< `before` has the counts of tiles

  /// The number of selected elements before a tile. Called by all threads of a block, once.
  __device__ std::int64_t before_tile(std::int64_t tile) const {
    using Sum = cub::BlockReduce<std::int64_t, kThreads>;
    __shared__ typename Sum::TempStorage memory;
    __shared__ std::int64_t total;
    if (!adds_up) return before[tile];
    std::int64_t sum = 0;
    for (std::int64_t k = threadIdx.x; k < tile; k += kThreads) sum += before[k];
    sum = Sum(memory).Sum(sum);
    if (threadIdx.x == 0) total = sum;
    __syncthreads();
    return total;
  }
};

/// Where a contiguous source has items.
template <class W>
struct Contiguous {
  template <int kCount>
  __device__ void find(const std::int64_t (&position)[kCount],
                       OffsetsAt<1> (&found)[kCount]) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) found[k].offset[0] = position[k] * std::int64_t{sizeof(W)};
  }
};

/// Moves items.
template <class W, class Offsets>
struct Items {
  using Value = W;
  const std::byte* source;
  Offsets offsets;
  std::byte* out;
  std::int64_t step;
  W fill;

  template <int kCount>
  __device__ void load(const std::int64_t (&position)[kCount], W (&value)[kCount]) const {
    OffsetsAt<1> at[kCount];
    offsets.find(position, at);
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      value[k] = *reinterpret_cast<const W*>(source + at[k].offset[0]);
  }
  __device__ void store(std::int64_t k, W item) const {
    __stcs(reinterpret_cast<W*>(out + k * step), item);
  }
  __device__ void pad(std::int64_t k) const { store(k, fill); }
};

/// Writes coordinates. `Offset` is an unsigned type that holds every position.
template <class Offset>
struct Coordinates {
  using Value = Offset;
  Loop<1> loop;
  std::byte* out;
  std::int64_t step;
  std::int64_t fill;
  std::int64_t first;
  bool aligned;

  template <int kCount>
  __device__ void load(const std::int64_t (&position)[kCount], Offset (&value)[kCount]) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) value[k] = static_cast<Offset>(position[k] + first);
  }
  __device__ void store(std::int64_t k, Offset position) const {
    for (int d = loop.ndim - 1; d >= 0; --d) {
      const auto extent = static_cast<Offset>(loop.extent[d]);
      const Offset rest = d > 0 ? position / extent : 0;
      store_one(k, d, static_cast<std::int64_t>(position - rest * extent));
      position = rest;
    }
  }
  __device__ void pad(std::int64_t k) const {
    for (int d = 0; d < loop.ndim; ++d) store_one(k, d, fill);
  }

 private:
  __device__ void store_one(std::int64_t k, int d, std::int64_t value) const {
    store_element(out + k * step + loop.stride[0][d], value, aligned);
  }
};

/// The first blocks write the selected elements of a tile each, the others the padding. A list in
/// shared memory makes the accesses of a warp adjacent.
template <class Move>
__global__ void __launch_bounds__(kThreads)
    write_kernel(const __grid_constant__ Selected selected, const __grid_constant__ Move move) {
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Scan::TempStorage shared;
  __shared__ std::uint16_t list[kTile];
  const std::int64_t tile = blockIdx.x;
  const std::int64_t before = selected.before_tile(min(tile, selected.tiles));
  if (tile >= selected.tiles) {
    const std::int64_t stride = (gridDim.x - selected.tiles) * kThreads;
    for (std::int64_t k = before + (tile - selected.tiles) * kThreads + threadIdx.x;
         k < selected.size; k += stride)
      move.pad(k);
    return;
  }
  if (before >= selected.size) return;
  unsigned bits = selected.bits[tile * kThreads + threadIdx.x];
  int rank = 0;
  int count = 0;
  Scan(shared).ExclusiveSum(__popc(bits), rank, count);
  for (; bits != 0; bits &= bits - 1)
    list[rank++] = static_cast<std::uint16_t>(threadIdx.x * kEach + __ffs(bits) - 1);
  __syncthreads();
  if (count > selected.size - before) count = static_cast<int>(selected.size - before);
  const std::int64_t first = tile * kTile - selected.lead;
  constexpr int kBatch = 8;  // loads in flight
  for (int j = static_cast<int>(threadIdx.x); j < count; j += kBatch * kThreads) {
    std::int64_t position[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) position[i] = first + list[min(j + i * kThreads, count - 1)];
    typename Move::Value value[kBatch];
    move.load(position, value);
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (j + i * kThreads < count) move.store(before + j + i * kThreads, value[i]);
  }
}

template <class Move>
void launch_write(const SelectCall& call, const Move& move) {
  constexpr std::int64_t kMaxPadding = 512;
  const std::int64_t size = call.args.size;
  launch(write_kernel<Move>, call.tiles + std::min(ceil_divide(size, kTile), kMaxPadding),
         call.stream,
         Selected{reinterpret_cast<const std::uint16_t*>(call.bits), call.before, call.lead,
                  call.tiles, size, call.has_few_tiles()},
         move);
}

}  // namespace

void write_selected(const SelectCall& call) {
  const SelectArgs& args = call.args;
  if (args.source != nullptr) {
    visit_word(args.width, [&]<class W>(W) {
      W fill;
      std::memcpy(&fill, args.fill, sizeof fill);
      const auto launch_with = [&]<class Offsets>(const Offsets& offsets) {
        launch_write(call, Items<W, Offsets>{args.source, offsets, args.out, args.step, fill});
      };
      if (args.items.contiguous(0, args.width))
        launch_with(Contiguous<W>());
      else
        launch_with(LoopOffsets<1>(args.items));
    });
    return;
  }
  std::int64_t fill = 0;
  std::memcpy(&fill, args.fill, sizeof fill);
  bool aligned = alignment_of(args.out) >= 8 && args.step % 8 == 0;
  for (int d = 0; d < args.coordinates.ndim; ++d)
    aligned = aligned && args.coordinates.stride[0][d] % 8 == 0;
  visit_offset(args.first + args.loop.count(), [&]<class Offset>(Offset) {
    launch_write(call, Coordinates<Offset>{args.coordinates, args.out, args.step, fill, args.first,
                                           aligned});
  });
}

}  // namespace gpukern::gpu

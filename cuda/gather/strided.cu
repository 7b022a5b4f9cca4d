// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/index.cuh"
#include "cuda/gather/direct.cuh"

namespace gpukern::gpu {
namespace {

/// The fill value's chunk at byte `in_item` of an item whose value begins at `offset`.
template <class Chunk>
__device__ Chunk fill_chunk(const Fill& fill, std::int64_t offset, std::int64_t period,
                            std::int64_t in_item) {
  if (fill.data == nullptr) return fill.chunk<Chunk>(in_item);
  Chunk chunk;
  auto* to = reinterpret_cast<std::byte*>(&chunk);
  std::int64_t at = in_item < period ? in_item : in_item % period;
  for (unsigned b = 0; b < sizeof(Chunk); ++b) {
    to[b] = fill.data[offset + at];
    if (++at == period) at = 0;
  }
  return chunk;
}

/// One chunk per thread.
template <class Chunk, class Offset>
__global__ void __launch_bounds__(kThreads)
    gather_strided_kernel(const __grid_constant__ GatherArgs args,
                          const __grid_constant__ Fill fill, bool index_aligned, Offset chunks,
                          Offset total) {
  const Offset t = Offset{blockIdx.x} * kThreads + threadIdx.x;
  if (t >= total) return;
  const Offset p = t / chunks;
  const std::int64_t in_item = static_cast<std::int64_t>(t - p * chunks) * sizeof(Chunk);
  std::int64_t offset[4];
  unravel(args.loop, p, offset);
  const std::int64_t index =
      load_any_index(args.index + offset[kIndex], args.index_type, index_aligned);
  note_bad(args.bad, index, args.index_type.is_signed, args.n);
  const std::int64_t position = resolve_index(args.mode, index, args.index_type.is_signed, args.n);
  auto* out = reinterpret_cast<Chunk*>(args.out + offset[kOut] + in_item);
  if (position < 0) {
    *out = fill_chunk<Chunk>(fill, offset[kFillValue], args.fill_period, in_item);
    return;
  }
  std::int64_t along_axis[1];
  unravel(args.axis, static_cast<std::uint64_t>(position), along_axis);
  *out = __ldg(
      reinterpret_cast<const Chunk*>(args.source + offset[kSource] + along_axis[0] + in_item));
}

}  // namespace

void gather_strided(const GatherArgs& args, const Fill& fill, std::int64_t width,
                    cudaStream_t stream) {
  const std::int64_t chunks = args.item / width;
  const std::int64_t total = args.loop.count() * chunks;
  const bool aligned = index_aligned(args.index, args.loop, kIndex, args.index_type);
  visit_chunk(width, [&](auto chunk) {
    visit_offset(total, [&](auto offset) {
      using Offset = decltype(offset);
      launch(gather_strided_kernel<decltype(chunk), Offset>, ceil_divide(total, kThreads), stream,
             args, fill, aligned, static_cast<Offset>(chunks), static_cast<Offset>(total));
    });
  });
}

}  // namespace gpukern::gpu

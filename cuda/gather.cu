// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <optional>

#include "../src/buffer.hpp"
#include "index.cuh"
#include "kernels.hpp"
#include "launch.cuh"

namespace gpukern::gpu {
namespace {

// Chunks that a thread keeps in flight: their loads are independent, so their latencies overlap.
constexpr int kChunksPerThread = 4;

/// The fill value on the device. A period that divides 16 bytes comes as a kernel parameter,
/// repeated; any other lies in device memory.
struct Fill {
  const std::byte* data = nullptr;
  std::int64_t period = 1;
  alignas(16) std::byte repeated[16]{};
};

template <class Chunk>
__device__ Chunk fill_chunk(const Fill& fill, std::int64_t fill_offset, std::int64_t at) {
  if (fill.data == nullptr) {
    constexpr int chunks = 16 / sizeof(Chunk);
    return reinterpret_cast<const Chunk*>(fill.repeated)[at / sizeof(Chunk) % chunks];
  }
  Chunk chunk;
  auto* to = reinterpret_cast<std::byte*>(&chunk);
  for (unsigned b = 0; b < sizeof(Chunk); ++b)
    to[b] = fill.data[fill_offset + (at + b) % fill.period];
  return chunk;
}

/// The common layout: out and index contiguous, one axis, items evenly apart in the source.
template <class Offset>
struct RowArgs {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t outer_stride;  ///< bytes of the source from one outer position to the next
  std::int64_t axis_stride;
  std::int64_t n;
  Offset total;   ///< chunks in out
  Offset chunks;  ///< per item
  Offset count;   ///< indices
  gpukern_mode mode;
  bool is_signed;
};

/// out[outer, i, chunk] = source[outer, index[i], chunk]; a thread moves kChunksPerThread chunks.
template <class Chunk, class Index, class Offset>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const __grid_constant__ RowArgs<Offset> args, const __grid_constant__ Fill fill) {
  const Offset first = Offset{blockIdx.x} * (kThreads * kChunksPerThread) + threadIdx.x;
  Offset chunk[kChunksPerThread];
  Offset outer[kChunksPerThread];
  std::int64_t at[kChunksPerThread];
#pragma unroll
  for (int k = 0; k < kChunksPerThread; ++k) {
    const Offset t = first + k * kThreads;
    if (t >= args.total) continue;
    const Offset row = t / args.chunks;
    chunk[k] = t - row * args.chunks;
    outer[k] = row / args.count;
    const Offset i = row - outer[k] * args.count;
    at[k] = load_raw_index<Index>(args.index + static_cast<std::int64_t>(i) * sizeof(Index),
                                  args.is_signed, true);
  }
  Chunk value[kChunksPerThread];
#pragma unroll
  for (int k = 0; k < kChunksPerThread; ++k) {
    if (first + k * kThreads >= args.total) continue;
    const std::int64_t position = resolve_index(args.mode, at[k], args.is_signed, args.n);
    const std::int64_t in_item = static_cast<std::int64_t>(chunk[k]) * sizeof(Chunk);
    if (position < 0) {
      value[k] = fill_chunk<Chunk>(fill, 0, in_item);
      continue;
    }
    const std::byte* item = args.source + static_cast<std::int64_t>(outer[k]) * args.outer_stride +
                            position * args.axis_stride;
    value[k] = __ldg(reinterpret_cast<const Chunk*>(item + in_item));
  }
#pragma unroll
  for (int k = 0; k < kChunksPerThread; ++k) {
    const Offset t = first + k * kThreads;
    if (t < args.total) reinterpret_cast<Chunk*>(args.out)[t] = value[k];
  }
}

/// Any strides, any alignment, an axis of any number of dimensions: one chunk per thread.
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
  const std::int64_t position = resolve_index(args.mode, index, args.index_type.is_signed, args.n);
  auto* out = reinterpret_cast<Chunk*>(args.out + offset[kOut] + in_item);
  if (position < 0) {
    *out = fill_chunk<Chunk>(fill, offset[kFillValue], in_item);
    return;
  }
  std::int64_t along_axis[1];
  unravel(args.axis, static_cast<std::uint64_t>(position), along_axis);
  *out = __ldg(
      reinterpret_cast<const Chunk*>(args.source + offset[kSource] + along_axis[0] + in_item));
}

/// Host bytes as a kernel parameter: what a graph captures, and no host memory has to outlive.
struct Parcel {
  std::byte bytes[2048];
};

__global__ void __launch_bounds__(kThreads)
    deliver_kernel(const __grid_constant__ Parcel parcel, int size, std::byte* to) {
  for (int b = static_cast<int>(threadIdx.x); b < size; b += kThreads) to[b] = parcel.bytes[b];
}

void deliver(const std::byte* from, std::int64_t bytes, std::byte* to, cudaStream_t stream) {
  for (std::int64_t done = 0; done < bytes; done += sizeof(Parcel)) {
    Parcel parcel{};
    const int size = static_cast<int>(std::min<std::int64_t>(bytes - done, sizeof(Parcel)));
    std::memcpy(parcel.bytes, from + done, static_cast<std::size_t>(size));
    launch(deliver_kernel, 1, stream, parcel, size, to + done);
  }
}

Fill make_fill(Backend& backend, const GatherArgs& args, Buffer& scratch, cudaStream_t stream) {
  Fill fill;
  if (args.mode != GPUKERN_FILL || args.fill_value == nullptr) return fill;
  fill.period = args.fill_period;
  if (args.fill_size == args.fill_period && 16 % args.fill_period == 0) {
    for (std::int64_t b = 0; b < 16; ++b) fill.repeated[b] = args.fill_value[b % args.fill_period];
    return fill;
  }
  scratch = Buffer(backend, args.fill_size, stream);
  auto* data = static_cast<std::byte*>(scratch.data());
  deliver(args.fill_value, args.fill_size, data, stream);
  fill.data = data;
  return fill;
}

/// The layout of gather_kernel, if the arguments have it.
struct Rows {
  std::int64_t outer = 1;
  std::int64_t outer_stride = 0;
  std::int64_t count = 1;
};

std::optional<Rows> as_rows(const GatherArgs& args) {
  const Loop<4>& loop = args.loop;
  if (args.axis.ndim > 1 || loop.ndim > 2) return std::nullopt;
  if (alignment_of(args.index) < args.index_type.bytes) return std::nullopt;
  Rows rows;
  std::int64_t out_stride = args.item;
  int d = loop.ndim - 1;
  if (d >= 0 && loop.stride[kIndex][d] != 0) {
    if (loop.stride[kIndex][d] != args.index_type.bytes || loop.stride[kSource][d] != 0 ||
        loop.stride[kOut][d] != out_stride)
      return std::nullopt;
    rows.count = loop.extent[d];
    out_stride *= rows.count;
    --d;
  }
  if (d >= 0) {
    if (loop.stride[kIndex][d] != 0 || loop.stride[kOut][d] != out_stride ||
        loop.stride[kFillValue][d] != 0)
      return std::nullopt;
    rows.outer = loop.extent[d];
    rows.outer_stride = loop.stride[kSource][d];
    --d;
  }
  return d < 0 ? std::optional(rows) : std::nullopt;
}

/// The bytes that every address and size of the call is a multiple of, 16 at most.
std::int64_t chunk_width(const GatherArgs& args) {
  std::int64_t width =
      std::min({alignment_of(args.item), alignment_of(args.source), alignment_of(args.out)});
  for (int d = 0; d < args.loop.ndim; ++d)
    width = std::min({width, alignment_of(args.loop.stride[kSource][d]),
                      alignment_of(args.loop.stride[kOut][d])});
  for (int d = 0; d < args.axis.ndim; ++d)
    width = std::min(width, alignment_of(args.axis.stride[0][d]));
  return width;
}

template <class Visit>
void visit_index_width(std::int32_t bytes, const Visit& visit) {
  switch (bytes) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

void launch_rows(const GatherArgs& args, const Rows& rows, const Fill& fill, std::int64_t width,
                 cudaStream_t stream) {
  const std::int64_t chunks = args.item / width;
  const std::int64_t total = rows.outer * rows.count * chunks;
  const std::int64_t blocks = ceil_divide(total, std::int64_t{kThreads} * kChunksPerThread);
  visit_chunk(width, [&](auto chunk) {
    visit_index_width(args.index_type.bytes, [&](auto index) {
      visit_offset(total, [&](auto offset) {
        using Offset = decltype(offset);
        const RowArgs<Offset> row_args{
            .source = args.source,
            .index = args.index,
            .out = args.out,
            .outer_stride = rows.outer_stride,
            .axis_stride = args.axis.ndim == 1 ? args.axis.stride[0][0] : 0,
            .n = args.n,
            .total = static_cast<Offset>(total),
            .chunks = static_cast<Offset>(chunks),
            .count = static_cast<Offset>(rows.count),
            .mode = args.mode,
            .is_signed = args.index_type.is_signed};
        launch(gather_kernel<decltype(chunk), decltype(index), Offset>, blocks, stream, row_args,
               fill);
      });
    });
  });
}

void launch_strided(const GatherArgs& args, const Fill& fill, std::int64_t width,
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

}  // namespace

void gather(Backend& backend, const GatherArgs& args, cudaStream_t stream) {
  Buffer scratch;
  const Fill fill = make_fill(backend, args, scratch, stream);
  const std::int64_t width = chunk_width(args);
  if (const auto rows = as_rows(args))
    launch_rows(args, *rows, fill, width, stream);
  else
    launch_strided(args, fill, width, stream);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Which kernel a gather goes to.

#include <algorithm>
#include <bit>
#include <optional>

#include "cuda/gather/partition/partition.hpp"
#include "cuda/runtime/kernels.hpp"

namespace gpukern::gpu {
namespace {

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

/// The call as rows, if its arguments have that layout.
std::optional<Rows> as_rows(const GatherArgs& args, std::int64_t width) {
  const Loop<4>& loop = args.loop;
  if (args.axis.ndim > 1 || loop.ndim > 2) return std::nullopt;
  if (alignment_of(args.index) < args.index_type.bytes) return std::nullopt;
  Rows rows{.axis_stride = args.axis.ndim == 1 ? args.axis.stride[0][0] : 0, .width = width};
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

void gather_direct(const DirectCall& call) {
  const auto& [args, rows, fill, tuning, stream] = call;
  if (args.item == rows.width && rows.outer == 1 && gather_items(call)) return;
  if (args.item == rows.width && (gather_inner_staged(call) || gather_inner_items(call))) return;
  const auto width = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(rows.width)));
  // Over PCIe the time is in the link, and gather_rows() bounds what is in flight there.
  const std::int64_t chunks = rows.outer * rows.count * (args.item / rows.width);
  if (!args.in_place && chunks <= tuning.few_chunks[width]) return gather_few_rows(call);
  if (args.item >= tuning.staged_from[width]) return gather_staged_rows(call);
  gather_rows(call);
}

}  // namespace

Buffer scratch_or_none(Backend& backend, std::int64_t bytes, cudaStream_t stream) {
  try {
    return {backend, bytes, stream};
  } catch (const Error& error) {
    if (error.status() == GPUKERN_MEMORY_ERROR || error.status() == GPUKERN_VALUE_ERROR) return {};
    throw;
  }
}

gpukern_compute_path gather_path(const GatherArgs& args) {
  const auto rows = as_rows(args, chunk_width(args));
  if (!rows) return GPUKERN_PATH_STRIDED;
  const Fill fill{};
  const DirectCall call{args, *rows, fill, gather_tuning(), nullptr};
  if (args.path != GPUKERN_GATHER_DIRECT && is_partitioned(call)) return GPUKERN_PATH_PARTITIONED;
  return args.item == rows->width ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS;
}

void gather(Backend& backend, const GatherArgs& args, cudaStream_t stream) {
  Buffer scratch;
  const std::int64_t width = chunk_width(args);
  const auto rows = as_rows(args, width);
  if (!rows)
    return gather_strided(args, fill_as_given(backend, args, scratch, stream), width, stream);
  const Fill fill = fill_item(backend, args, scratch, stream);
  const DirectCall call{args, *rows, fill, gather_tuning(), stream};
  if (args.path != GPUKERN_GATHER_DIRECT &&
      (gather_partitioned(backend, call) || gather_rising(backend, call)))
    return;
  gather_direct(call);
}

}  // namespace gpukern::gpu

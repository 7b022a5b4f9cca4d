// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/gather/problem.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cuda/common/arithmetic.hpp"
#include "cuda/runtime/device_facts.hpp"

namespace gpukern::gpu {
namespace {

std::int64_t word_width(const GatherArgs& args) {
  std::int64_t width =
      std::min({alignment_of(args.item), alignment_of(args.source), alignment_of(args.out)});
  for (int d = 0; d < args.loop.ndim; ++d)
    width = std::min({width, alignment_of(args.loop.stride[kSource][d]),
                      alignment_of(args.loop.stride[kOut][d])});
  for (int d = 0; d < args.axis.ndim; ++d)
    width = std::min(width, alignment_of(args.axis.stride[0][d]));
  return width;
}

/// A dimension along which index and out are contiguous and the other operands have stride 0.
bool is_index_dimension(const GatherArgs& args, int d) {
  const auto& stride = args.loop.stride;
  return stride[kIndex][d] == args.index_type.bytes && stride[kOut][d] == args.item &&
         stride[kSource][d] == 0 && stride[kFillValue][d] == 0;
}

/// A dimension along which out is contiguous, and index and fill value have stride 0.
bool is_outer_dimension(const GatherArgs& args, int d, std::int64_t out_stride) {
  const auto& stride = args.loop.stride;
  return stride[kIndex][d] == 0 && stride[kOut][d] == out_stride && stride[kFillValue][d] == 0;
}

std::optional<Rows> as_rows(const GatherArgs& args) {
  const Loop<4>& loop = args.loop;
  if (args.axis.ndim > 1 || loop.ndim > 2) return std::nullopt;
  if (alignment_of(args.index) < args.index_type.bytes) return std::nullopt;
  Rows rows{.axis_stride = args.axis.ndim == 1 ? args.axis.stride[0][0] : 0};
  int d = loop.ndim - 1;
  if (d >= 0 && is_index_dimension(args, d)) rows.count = loop.extent[d--];
  if (d >= 0 && is_outer_dimension(args, d, args.item * rows.count)) {
    rows.outer = loop.extent[d];
    rows.outer_stride = loop.stride[kSource][d--];
  }
  return d < 0 ? std::optional(rows) : std::nullopt;
}

}  // namespace

Loop<4> in_memory_order(Loop<4> loop) {
  loop.sort_by(kOut);
  loop.coalesce();
  return loop;
}

bool has_repeated_fill(const GatherArgs& args) {
  return args.mode != GPUKERN_INDEX_FILL || args.fill_value == nullptr ||
         (args.fill_size == args.fill_period && 16 % args.fill_period == 0);
}

GatherProblem::GatherProblem(const GatherArgs& arguments)
    : args(arguments), tuning(gather_tuning()), width(word_width(arguments)) {
  const std::optional<Rows> found = as_rows(arguments);
  has_rows = found.has_value() && args.tuple == nullptr;
  if (has_rows) rows = *found;
}

double GatherProblem::bytes_per_index() const {
  return static_cast<double>(args.n) * std::abs(static_cast<double>(rows.axis_stride)) /
         static_cast<double>(rows.count);
}

std::int64_t GatherProblem::last_axis_held() const {
  constexpr std::int64_t kRounding = 32;  // to whole words at either end
  const std::int64_t available = device_facts().shared_bytes - kDeclaredSharedBytes - kRounding;
  return std::min(args.n, std::min(tuning.last_axis_shared_to, available) / args.item);
}

bool GatherProblem::last_axis_is_large() const {
  const std::int64_t held = last_axis_held();
  return held < args.n || held * args.item > tuning.last_axis_shared_large;
}

bool GatherProblem::aligned_to_vectors(std::int64_t count) const {
  const auto vector = [count](std::int64_t bytes) {
    return std::min<std::int64_t>(bytes * count, kWordBytes);
  };
  return alignment_of(args.index) >= vector(args.index_type.bytes) &&
         alignment_of(args.out) >= vector(args.item);
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "src/ops/gather_args.hpp"
#include "src/ops/gather_hybrid.hpp"
#include "src/ops/gather_offload.hpp"
#include "src/runtime/backend.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/chunk_pipeline.hpp"

namespace gpukern {
namespace {

Axis checked_axis(const Tensor& source, std::int32_t axis) {
  if (axis == GPUKERN_AXIS_NONE) return {0, 0, source.ndim, source.count()};
  const int ndim = std::max(source.ndim, 1);
  require(axis >= -ndim && axis < ndim, GPUKERN_AXIS_ERROR, "axis ", axis,
          " is out of bounds for array of dimension ", ndim);
  const int number = axis < 0 ? axis + ndim : axis;
  if (source.ndim == 0) return {0, 0, 0, 1};
  return {number, number, number + 1, source.shape[number]};
}

void require_index_dtype(const Argument& index) {
  require(is_index_dtype(index.tensor.dtype), GPUKERN_TYPE_ERROR, index.name,
          " must be of an integer dtype, got ", dtype_name(index.tensor.dtype));
}

/// source.shape[:first] + index.shape + source.shape[last:]
Tensor expected_shape(const Tensor& source, const Tensor& index, const Axis& axis) {
  const int ndim = source.ndim - (axis.last - axis.first) + index.ndim;
  require(ndim <= GPUKERN_MAX_NDIM, GPUKERN_VALUE_ERROR, "gather: the result must have at most ",
          GPUKERN_MAX_NDIM, " dimensions, got ", ndim);
  Tensor expected;
  auto append = [&expected](std::int64_t size) { expected.shape[expected.ndim++] = size; };
  for (int d = 0; d < axis.first; ++d) append(source.shape[d]);
  for (int d = 0; d < index.ndim; ++d) append(index.shape[d]);
  for (int d = axis.last; d < source.ndim; ++d) append(source.shape[d]);
  return expected;
}

/// Whether a shape is source.shape[:first] + index.shape + source.shape[last:].
bool has_shape(const Tensor& out, const Tensor& source, const Tensor& index, const Axis& axis) {
  if (out.ndim != source.ndim - (axis.last - axis.first) + index.ndim) return false;
  int o = 0;
  bool same = true;
  for (int d = 0; d < axis.first; ++d) same = out.shape[o++] == source.shape[d] && same;
  for (int d = 0; d < index.ndim; ++d) same = out.shape[o++] == index.shape[d] && same;
  for (int d = axis.last; d < source.ndim; ++d) same = out.shape[o++] == source.shape[d] && same;
  return same;
}

void require_out(const Argument& out, const Tensor& source, const Tensor& index, const Axis& axis) {
  require(same_dtype(out.tensor.dtype, source.dtype), GPUKERN_TYPE_ERROR, out.name,
          " must have the source's dtype ", dtype_name(source.dtype), ", got ",
          dtype_name(out.tensor.dtype));
  if (!has_shape(out.tensor, source, index, axis)) {
    fail(GPUKERN_VALUE_ERROR, out.name, " must have shape ",
         expected_shape(source, index, axis).shape_text(), ", got ", out.tensor.shape_text());
  }
  require_writable(out.tensor, out.name);
}

/// The fill value: a host tensor that ends as the source does behind the axis.
Tensor checked_fill_value(const gpukern_tensor* raw, const Tensor& source, const Axis& axis) {
  const Argument fill("gather", "fill_value", raw);
  require(!fill.tensor.device.cuda, GPUKERN_VALUE_ERROR, fill.name,
          " must lie in host memory, got ", device_name(fill.tensor.device));
  require(same_dtype(fill.tensor.dtype, source.dtype), GPUKERN_TYPE_ERROR, fill.name,
          " must have the source's dtype ", dtype_name(source.dtype), ", got ",
          dtype_name(fill.tensor.dtype));
  const int missing = source.ndim - fill.tensor.ndim;
  bool fits = missing >= axis.last && fill.tensor.contiguous();
  for (int d = 0; fits && d < fill.tensor.ndim; ++d)
    fits = fill.tensor.shape[d] == source.shape[missing + d];
  if (!fits && fill.tensor.ndim > 0) {
    Tensor item;
    for (int d = axis.last; d < source.ndim; ++d) item.shape[item.ndim++] = source.shape[d];
    fail(GPUKERN_VALUE_ERROR, fill.name, " must be a number or have the shape of an item, ",
         item.shape_text(), ", or of the end of it, and be C-contiguous, got shape ",
         fill.tensor.shape_text(), fill.tensor.contiguous() ? "" : ", not C-contiguous");
  }
  return fill.tensor;
}

void require_in_bounds(const Call& call, const Tensor& index, const Axis& axis) {
  IndexArgs args;  // not as one initializer, for which GCC clears the whole struct first
  args.index = index.data;
  args.n = axis.n;
  args.index_type = index_type(index);
  for (int d = 0; d < index.ndim; ++d) args.loop.push(index.shape[d], {index.stride[d]});
  args.loop.coalesce();
  const auto bad = call.home.first_bad_index(args, call.stream);
  if (!bad) return;
  const std::string value = args.index_type.is_signed
                                ? std::to_string(bad->value)
                                : std::to_string(static_cast<std::uint64_t>(bad->value));
  fail(GPUKERN_INDEX_ERROR, "index ", value, " is out of bounds for axis ", axis.number,
       " with size ", axis.n);
}

/// NumPy looks at the indices once per position before the axis: not at all if there are none.
bool has_outer_positions(const Tensor& source, const Axis& axis) {
  const auto* shape = source.shape.data();
  return std::none_of(shape, shape + axis.first, [](std::int64_t size) { return size == 0; });
}

/// $GPUKERN_GATHER, read at every call so that a process may change its mind.
gpukern_gather_path default_path() {
  const char* text = std::getenv("GPUKERN_GATHER");
  const std::string_view name = text != nullptr ? text : "";
  if (name.empty() || name == "auto") return GPUKERN_GATHER_AUTO;
  if (name == "direct") return GPUKERN_GATHER_DIRECT;
  if (name == "partitioned") return GPUKERN_GATHER_PARTITIONED;
  fail(GPUKERN_VALUE_ERROR, "GPUKERN_GATHER must be auto, direct or partitioned, got ", name);
}

/// Checks gpukern_gather_options; NULL is its defaults.
const gpukern_gather_options& checked_options(const gpukern_gather_options* options) {
  static constexpr gpukern_gather_options kDefaults = GPUKERN_GATHER_OPTIONS_INIT;
  if (options == nullptr) return kDefaults;
  // As of ABI 1. A later field is to be read only where struct_size covers it.
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_gather_options, out_may_change) + sizeof(std::int32_t);
  require(options->struct_size >= kFirstSize, GPUKERN_VALUE_ERROR,
          "gather: options must have struct_size = ", kFirstSize, " or more, got ",
          options->struct_size);
  require(options->mode >= GPUKERN_INDEX_RAISE && options->mode <= GPUKERN_INDEX_FILL,
          GPUKERN_VALUE_ERROR,
          "gather: mode must be one of raise (0), wrap (1), clip (2), fill (3), got ",
          options->mode);
  require(options->path >= GPUKERN_GATHER_AUTO && options->path <= GPUKERN_GATHER_PARTITIONED,
          GPUKERN_VALUE_ERROR,
          "gather: path must be one of auto (0), direct (1), partitioned (2), got ", options->path);
  return *options;
}

/// The path of a call with this many indices.
gpukern_gather_path path_of(const gpukern_gather_options& options, std::int64_t indices) {
  // Few indices have one path only; to read the environment would cost them as much as to gather.
  constexpr std::int64_t kFew = 4096;
  if (options.path != GPUKERN_GATHER_AUTO) return static_cast<gpukern_gather_path>(options.path);
  return indices < kFew ? GPUKERN_GATHER_DIRECT : default_path();
}

/// Whether a GPU is to read a source in host memory, for an index of its own.
bool reads_in_place(const Argument& source, const Argument& index) {
  return !source.tensor.device.cuda && index.tensor.device.cuda;
}

/// Where the call runs. `from` becomes the source as that place sees it.
Call call_for(const Argument& source, const Argument& index, const Argument& out, Tensor& from,
              const gpukern_exec* exec) {
  if (!reads_in_place(source, index)) return {"gather", {&source, &index, &out}, exec};
  Call call("gather", {&index, &out}, exec);
  from.device = call.device;
  if (from.count() == 0) return call;
  from.data = seen_in_place(call.backend, source.tensor);
  require(from.data != nullptr, GPUKERN_VALUE_ERROR, source.name, " must lie on ",
          device_name(call.device),
          " like index, or in page-locked host memory, which the GPU "
          "reads in place (pinned_empty in Python, gpukern_allocate with GPUKERN_CUDA_HOST in C), "
          "got pageable host memory");
  return call;
}

/// Whether the backend may check indices while it reads items.
bool checks_on_the_way(const Call& call, const gpukern_gather_options& options) {
  return !call.travels() && (!call.device.cuda || options.out_may_change != 0);
}

/// `checks`: nobody has checked the indices.
void run(const GatherCall& gather, bool checks, const gpukern_gather_options& options,
         const gpukern_exec* exec) {
  const Call& call = gather.call;
  Progress progress("gather", exec);
  if (call.travels()) return gather_through(gather, device_memory_limit(exec), progress);
  GatherArgs args = gather_args(gather.operands, gather.axis, gather.mode);
  args.path = gather.path;
  args.in_place = gather.host_source != nullptr;
  args.out_may_change = options.out_may_change != 0;
  if (progress.wanted() && !call.device.cuda) {
    progress.expect(gather.operands.out.bytes());
    if (checks) require_in_bounds(call, gather.operands.index, gather.axis);
    args.out_may_change = true;  // since all are good
    return gather_in_parts(call.backend, args, progress);
  }
  join_items(args);
  const std::int64_t by_cpu = items_for_cpu(gather, args);
  if (checks) {
    if (by_cpu == 0 && call.backend.gather_checked(args, call.stream)) return;
    require_in_bounds(call, gather.operands.index, gather.axis);
  }
  if (by_cpu > 0) return gather_mixed(gather, args, by_cpu);
  call.backend.gather(args, call.stream);
}

void gather(const gpukern_tensor* raw_source, const gpukern_tensor* raw_index,
            std::int32_t raw_axis, const gpukern_tensor* raw_out,
            const gpukern_gather_options* raw_options, const gpukern_exec* exec) {
  const Argument source("gather", "source", raw_source);
  const Argument index("gather", "index", raw_index);
  const Argument out("gather", "out", raw_out);
  const gpukern_gather_options& options = checked_options(raw_options);
  const auto mode = static_cast<gpukern_index_mode>(options.mode);
  require_index_dtype(index);
  const Axis axis = checked_axis(source.tensor, raw_axis);
  require_out(out, source.tensor, index.tensor, axis);
  Tensor from = source.tensor;
  const Call call = call_for(source, index, out, from, exec);
  const gpukern_gather_path path = reads_in_place(source, index)
                                       ? GPUKERN_GATHER_DIRECT
                                       : path_of(options, index.tensor.count());
  Tensor fill;
  if (mode == GPUKERN_INDEX_FILL && options.fill_value != nullptr)
    fill = checked_fill_value(options.fill_value, source.tensor, axis);

  const std::int64_t count = out.tensor.count();
  require(axis.n > 0 || count == 0, GPUKERN_INDEX_ERROR,
          "cannot do a non-empty take from an empty axes.");
  const bool raises = mode == GPUKERN_INDEX_RAISE && index.tensor.count() > 0 &&
                      has_outer_positions(source.tensor, axis);
  const bool checks = raises && count > 0 && checks_on_the_way(call, options);
  if (raises && !checks) require_in_bounds(call, index.tensor, axis);
  if (count == 0) return;

  const bool apart = may_overlap(out.tensor, from) || may_overlap(out.tensor, index.tensor);
  Output out_here(call, out.tensor, apart);
  run({call,
       {from, index.tensor, out_here.tensor(), fill},
       axis,
       mode,
       path,
       reads_in_place(source, index) ? source.tensor.data : nullptr},
      checks, options, exec);
  out_here.finish();
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_gather(const gpukern_tensor* source, const gpukern_tensor* index,
                                         int32_t axis, const gpukern_tensor* out,
                                         const gpukern_gather_options* options,
                                         const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::gather(source, index, axis, out, options, exec); });
}

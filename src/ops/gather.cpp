// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "src/ops/indexing.hpp"
#include "src/ops/raveled_index.hpp"

namespace gpukern {
namespace {

/// NumPy checks the indices once for each position before the axis, and not at all if there is no
/// such position.
bool has_outer_positions(const Tensor& source, const Axis& axis) {
  const auto* shape = source.shape.data();
  return std::none_of(shape, shape + axis.first, [](std::int64_t size) { return size == 0; });
}

/// The item of a source at a position on an axis.
Tensor item_at(const Tensor& source, const Axis& axis, std::int64_t position) {
  Tensor item = source;
  for (int d = axis.last - 1; d >= axis.first; --d) {
    item.data = offset_by(item.data, position % source.shape[d] * source.stride[d]);
    position /= source.shape[d];
  }
  item.ndim = 0;
  item.total = 1;
  for (int d = 0; d < source.ndim; ++d) {
    if (d >= axis.first && d < axis.last) continue;
    item.shape[item.ndim] = source.shape[d];
    item.stride[item.ndim++] = source.stride[d];
    item.total *= source.shape[d];
  }
  return item;
}

/// Gathers at one index in host memory from a source on a GPU, which then copies an item.
void gather_item(const Argument& source, const Argument& index, const Argument& out,
                 const Axis& axis, const gpukern_gather_options& options,
                 const gpukern_exec* exec) {
  const Call call("gather", {&source, &out}, exec);
  const auto mode = static_cast<gpukern_index_mode>(options.mode);
  if (mode == GPUKERN_INDEX_FILL && options.fill_value != nullptr)
    static_cast<void>(checked_fill_value("gather", options.fill_value, source.tensor, axis));
  const bool raises = mode == GPUKERN_INDEX_RAISE && call.index_errors == nullptr;
  const bool resolves = raises || mode == GPUKERN_INDEX_WRAP || mode == GPUKERN_INDEX_CLIP;
  const bool checks = has_outer_positions(source.tensor, axis);
  if (raises && checks && axis.n > 0) require_number_in_bounds(call, {&index.tensor, axis});
  const IndexType type = index_type(index.tensor);
  // A dry run does not read it.
  const std::int64_t at = call.explanation == nullptr ? load_index(index.tensor.data, type) : 0;
  if (axis.n > 0 && (resolves || in_bounds(at, type.is_signed, axis.n))) {
    if (call.explanation != nullptr && out.tensor.count() > 0)
      call.explanation->path = GPUKERN_PATH_ITEMS;
    return call.move(item_at(source.tensor, axis, resolve_index(mode, at, type.is_signed, axis.n)),
                     out.tensor);
  }
  const OperandCopy copy(call, call.device, call.device_id, index.tensor);
  const Argument there(index.name, copy.tensor());
  run_indexed({"gather", source, there, out, axis, gather_loop, checks}, options, exec);
}

void gather(const gpukern_tensor* raw_source, const gpukern_tensor* raw_index, std::int32_t axis,
            const gpukern_tensor* raw_out, const gpukern_gather_options* raw_options,
            const gpukern_exec* exec) {
  const Argument source("gather", "source", raw_source);
  const Argument index("gather", "index", raw_index);
  const Argument out("gather", "out", raw_out);
  const gpukern_gather_options& options = checked_options("gather", raw_options);
  require_index_dtype(index);
  if (options.further_index_count > 0) {
    RaveledIndex raveled("gather", source.tensor, index, options.further_indices,
                         options.further_index_count, axis);
    require_indexed_out(
        out, "the source", source.tensor,
        indexed_shape("gather", source.tensor, raveled.index().tensor, raveled.axes()));
    return run_indexed(
        {"gather", source, raveled.index(), out, raveled.axes(), gather_loop, true, &raveled},
        options, exec);
  }
  const Axis checked = checked_axis(source.tensor, axis);
  require_indexed_out(out, "the source", source.tensor,
                      indexed_shape("gather", source.tensor, index.tensor, checked));
  if (source.tensor.device.cuda && !index.tensor.device.cuda && index.tensor.ndim == 0)
    return gather_item(source, index, out, checked, options, exec);
  run_indexed({"gather", source, index, out, checked, gather_loop,
               has_outer_positions(source.tensor, checked)},
              options, exec);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_gather(const gpukern_tensor* source, const gpukern_tensor* index,
                                         int32_t axis, const gpukern_tensor* out,
                                         const gpukern_gather_options* options,
                                         const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::gather(source, index, axis, out, options, exec); });
}

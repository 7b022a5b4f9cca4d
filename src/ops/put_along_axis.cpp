// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "src/ops/indexed_write.hpp"

namespace gpukern {
namespace {

/// Every element of the target has a key, in C order.
void along_axis_loops(const WriteOperands& operands, const Axis& axis, ScatterArgs& args) {
  const auto& [target, index, values] = operands;
  for (int d = 0; d < target.ndim; ++d) args.keys.push(target.shape[d], {target.stride[d]});
  if (axis.last - axis.first != 1) {  // flattened
    args.updates.push(index.shape[0], {index.stride[0], values.stride[0], 0});
    return;
  }
  std::array<std::int64_t, GPUKERN_MAX_NDIM> key_stride;
  std::int64_t step = 1;
  for (int d = target.ndim - 1; d >= 0; --d) {
    if (d == axis.number) args.key_step = step;
    key_stride[d] = d == axis.number || target.shape[d] == 1 ? 0 : step;
    step *= target.shape[d];
  }
  for (int d = 0; d < target.ndim; ++d)
    args.updates.push(values.shape[d],
                      {index.shape[d] != 1 ? index.stride[d] : 0, values.stride[d], key_stride[d]});
}

void put_along_axis(const gpukern_tensor* raw_target, const gpukern_tensor* raw_index,
                    const gpukern_tensor* raw_values, std::int32_t axis,
                    const gpukern_tensor* raw_out, const gpukern_scatter_options* raw_options,
                    const gpukern_exec* exec) {
  const Argument target("put_along_axis", "target", raw_target);
  const Argument index("put_along_axis", "index", raw_index);
  const Argument values("put_along_axis", "values", raw_values);
  gpukern_scatter_options options = checked_options("put_along_axis", raw_options);
  require_one_index("put_along_axis", options.further_index_count);
  require_index_dtype(index);
  const Axis checked = checked_along_axis("target", target.tensor, index, axis);
  const Tensor shape = along_axis_shape("target", target.tensor, index, checked);
  // As NumPy, which examines no index if nothing is written.
  const bool is_empty = std::any_of(shape.shape.begin(), shape.shape.begin() + shape.ndim,
                                    [](std::int64_t size) { return size == 0; });
  if (options.mode == GPUKERN_INDEX_RAISE && is_empty) options.mode = GPUKERN_INDEX_CLIP;
  run_indexed_write(
      {"put_along_axis", target, index, values, raw_out, checked, shape, along_axis_loops}, options,
      exec);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_put_along_axis(const gpukern_tensor* target,
                                                 const gpukern_tensor* index,
                                                 const gpukern_tensor* values, int32_t axis,
                                                 const gpukern_tensor* out,
                                                 const gpukern_scatter_options* options,
                                                 const gpukern_exec* exec) {
  return gpukern::guard(
      [&] { gpukern::put_along_axis(target, index, values, axis, out, options, exec); });
}

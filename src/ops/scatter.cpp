// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexed_write.hpp"
#include "src/ops/raveled_index.hpp"

namespace gpukern {
namespace {

void scatter_loops(const WriteOperands& operands, const Axis& axis, ScatterArgs& args) {
  const auto& [target, index, values] = operands;
  int v = 0;
  for (int d = 0; d < axis.first; ++d)
    args.columns.push(target.shape[d], {target.stride[d], values.stride[v++]});
  for (int d = 0; d < index.ndim; ++d)
    args.updates.push(index.shape[d], {index.stride[d], values.stride[v++], 0});
  for (int d = axis.last; d < target.ndim; ++d)
    args.columns.push(target.shape[d], {target.stride[d], values.stride[v++]});
  for (int d = axis.first; d < axis.last; ++d) args.keys.push(target.shape[d], {target.stride[d]});
}

void scatter(const gpukern_tensor* raw_target, const gpukern_tensor* raw_index,
             const gpukern_tensor* raw_values, std::int32_t axis, const gpukern_tensor* raw_out,
             const gpukern_scatter_options* raw_options, const gpukern_exec* exec) {
  const Argument target("scatter", "target", raw_target);
  const Argument index("scatter", "index", raw_index);
  const Argument values("scatter", "values", raw_values);
  const gpukern_scatter_options& options = checked_options("scatter", raw_options);
  require_index_dtype(index);
  if (options.further_index_count > 0) {
    RaveledIndex raveled("scatter", target.tensor, index, options.further_indices,
                         options.further_index_count, axis);
    const Tensor shape =
        indexed_shape("scatter", target.tensor, raveled.index().tensor, raveled.axes());
    return run_indexed_write({"scatter", target, raveled.index(), values, raw_out, raveled.axes(),
                              shape, scatter_loops, &raveled},
                             options, exec);
  }
  const Axis checked = checked_axis(target.tensor, axis);
  run_indexed_write({"scatter", target, index, values, raw_out, checked,
                     indexed_shape("scatter", target.tensor, index.tensor, checked), scatter_loops},
                    options, exec);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_scatter(const gpukern_tensor* target, const gpukern_tensor* index,
                                          const gpukern_tensor* values, int32_t axis,
                                          const gpukern_tensor* out,
                                          const gpukern_scatter_options* options,
                                          const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::scatter(target, index, values, axis, out, options, exec); });
}

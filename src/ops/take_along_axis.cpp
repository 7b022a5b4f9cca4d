// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexing.hpp"

namespace gpukern {
namespace {

void along_axis_loop(const GatherOperands& operands, const Axis& axis, Loop<4>& loop) {
  const auto& [source, index, out, fill] = operands;
  for (int d = 0; d < out.ndim; ++d) {
    const bool source_moves = d != axis.number && source.shape[d] != 1;
    const int f = d - (out.ndim - fill.ndim);
    loop.push(out.shape[d],
              {source_moves ? source.stride[d] : 0, index.shape[d] != 1 ? index.stride[d] : 0,
               out.stride[d], f >= 0 ? fill.stride[f] : 0});
  }
}

/// The index has one value for each element: a fill value has dimensions only where the index has
/// stride 0.
void require_fill_value_beside_index(const gpukern_tensor* raw_fill_value, const Tensor& index) {
  const int ndim = Argument("take_along_axis", "fill_value", raw_fill_value).tensor.ndim;
  for (int d = index.ndim - ndim; d < index.ndim; ++d)
    require(d >= 0 && index.shape[d] == 1, GPUKERN_VALUE_ERROR,
            "take_along_axis: fill_value must be a number, or have dimensions only along which "
            "index has length 1, got ndim ",
            ndim, " for an index of shape ", index.shape_text());
}

void take_along_axis(const gpukern_tensor* raw_source, const gpukern_tensor* raw_index,
                     std::int32_t axis, const gpukern_tensor* raw_out,
                     const gpukern_gather_options* raw_options, const gpukern_exec* exec) {
  const Argument source("take_along_axis", "source", raw_source);
  const Argument index("take_along_axis", "index", raw_index);
  const Argument out("take_along_axis", "out", raw_out);
  const gpukern_gather_options& options = checked_options("take_along_axis", raw_options);
  require_one_index("take_along_axis", options.further_index_count);
  require_index_dtype(index);
  const Axis checked = checked_along_axis("source", source.tensor, index, axis);
  require_indexed_out(out, "the source", source.tensor,
                      along_axis_shape("source", source.tensor, index, checked));
  if (options.mode == GPUKERN_INDEX_FILL && options.fill_value != nullptr)
    require_fill_value_beside_index(options.fill_value, index.tensor);
  const bool checks_indices = out.tensor.count() > 0;  // as NumPy
  run_indexed({"take_along_axis", source, index, out, checked, along_axis_loop, checks_indices},
              options, exec);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_take_along_axis(const gpukern_tensor* source,
                                                  const gpukern_tensor* index, int32_t axis,
                                                  const gpukern_tensor* out,
                                                  const gpukern_gather_options* options,
                                                  const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::take_along_axis(source, index, axis, out, options, exec); });
}

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexing.hpp"

namespace gpukern {
namespace {

/// Source and index broadcast outside the axis; along the axis, `out` has the length of the index.
Tensor result_shape(const Argument& source, const Argument& index, const Axis& axis) {
  const Tensor& from = source.tensor;
  const Tensor& at = index.tensor;
  Tensor expected;
  for (int d = 0; d < at.ndim; ++d) {
    std::int64_t size = at.shape[d];
    if (d != axis.number && size != from.shape[d]) {
      require(size == 1 || from.shape[d] == 1, GPUKERN_VALUE_ERROR, index.name,
              " must broadcast with the source outside axis ", axis.number, ", got shape ",
              at.shape_text(), " for a source of shape ", from.shape_text());
      if (size == 1) size = from.shape[d];
    }
    expected.shape[expected.ndim++] = size;
  }
  return expected;
}

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
void require_fill_value_beside_index(const gpukern_tensor& fill_value, const Tensor& index) {
  for (int d = index.ndim - fill_value.ndim; d < index.ndim; ++d)
    require(d >= 0 && index.shape[d] == 1, GPUKERN_VALUE_ERROR,
            "take_along_axis: fill_value must be a number, or have dimensions only along which "
            "index has length 1, got ndim ",
            fill_value.ndim, " for an index of shape ", index.shape_text());
}

void take_along_axis(const gpukern_tensor* raw_source, const gpukern_tensor* raw_index,
                     std::int32_t axis, const gpukern_tensor* raw_out,
                     const gpukern_gather_options* raw_options, const gpukern_exec* exec) {
  const Argument source("take_along_axis", "source", raw_source);
  const Argument index("take_along_axis", "index", raw_index);
  const Argument out("take_along_axis", "out", raw_out);
  const gpukern_gather_options& options = checked_options("take_along_axis", raw_options);
  require_index_dtype(index);
  const bool flattened = axis == GPUKERN_AXIS_NONE;
  require(flattened || source.tensor.ndim > 0, GPUKERN_AXIS_ERROR, "axis ", axis,
          " is out of bounds for array of dimension 0");
  const Axis checked = checked_axis(source.tensor, axis);
  const int ndim = flattened ? 1 : source.tensor.ndim;
  require(index.tensor.ndim == ndim, GPUKERN_VALUE_ERROR, index.name, " must have ", ndim,
          flattened ? " dimension, for the flattened source, got "
                    : " dimensions, as many as the source, got ",
          index.tensor.ndim);
  require_indexed_out(out, source.tensor, result_shape(source, index, checked));
  if (options.mode == GPUKERN_INDEX_FILL && options.fill_value != nullptr)
    require_fill_value_beside_index(*options.fill_value, index.tensor);
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

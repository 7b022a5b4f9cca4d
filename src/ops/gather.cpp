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
        out, "source", source.tensor,
        indexed_shape("gather", source.tensor, raveled.index().tensor, raveled.axes()));
    return run_indexed(
        {"gather", source, raveled.index(), out, raveled.axes(), gather_loop, true, &raveled},
        options, exec);
  }
  const Axis checked = checked_axis(source.tensor, axis);
  require_indexed_out(out, "source", source.tensor,
                      indexed_shape("gather", source.tensor, index.tensor, checked));
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

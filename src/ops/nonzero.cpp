// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstring>

#include "src/ops/selection.hpp"

namespace gpukern {
namespace {

void require_int64(const Argument& argument) {
  require(is_dtype(argument.tensor.dtype, GPUKERN_INT, 64), GPUKERN_TYPE_ERROR, argument.name,
          " must be of dtype int64, got ", dtype_name(argument.tensor.dtype));
}

Tensor checked_fill_position(const gpukern_tensor* raw) {
  const Argument fill("nonzero", "fill_value", raw);
  require_int64(fill);
  require(!fill.tensor.device.cuda && fill.tensor.count() == 1, GPUKERN_VALUE_ERROR, fill.name,
          " must be one number in host memory, got shape ", fill.tensor.shape_text(), " on ",
          device_name(fill.tensor.device));
  return fill.tensor;
}

void nonzero(const gpukern_tensor* raw_mask, const gpukern_tensor* raw_out,
             const gpukern_select_options* options, const gpukern_exec* exec) {
  const Argument mask("nonzero", "mask", raw_mask);
  const Argument out("nonzero", "out", raw_out);
  const gpukern_tensor* const raw_fill = checked_fill("nonzero", options);
  require_mask_dtype(mask);
  const Tensor& from = mask.tensor;
  require(from.ndim > 0, GPUKERN_VALUE_ERROR, mask.name,
          " must have one dimension or more, got a 0-d array");
  require_int64(out);
  require(out.tensor.ndim == 2 && out.tensor.shape[0] == from.ndim, GPUKERN_VALUE_ERROR, out.name,
          " must have shape (", from.ndim, ", size), got ", out.tensor.shape_text());
  require_writable(out.tensor, out.name);
  const Tensor fill = raw_fill != nullptr ? checked_fill_position(raw_fill) : Tensor();
  const Call call("nonzero", {&mask, &out}, exec);
  if (out.tensor.count() == 0) return;
  run_selection(
      call, "nonzero",
      {from, nullptr, out.tensor, {}, 0, call.stream, raw_fill != nullptr ? &fill : nullptr}, exec,
      [&](Device& device, const SelectOperands& operands) {
        SelectArgs args = mask_args(operands.mask);
        for (int d = 0; d < from.ndim; ++d)
          args.coordinates.push(from.shape[d], {d * operands.out.stride[0]});
        args.first = operands.first;
        args.out = operands.out.data;
        args.step = operands.out.stride[1];
        args.size = operands.out.shape[1];
        if (operands.fill != nullptr && call.explanation == nullptr)
          std::memcpy(args.fill, operands.fill->data, sizeof(std::int64_t));
        device.run(args, operands.stream);
      });
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_nonzero(const gpukern_tensor* mask, const gpukern_tensor* out,
                                          const gpukern_select_options* options,
                                          const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::nonzero(mask, out, options, exec); });
}

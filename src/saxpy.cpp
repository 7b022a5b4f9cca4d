// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstring>

#include "backend.hpp"
#include "call.hpp"

namespace gpukern {
namespace {

void require_like(const Argument& argument, const Tensor& x) {
  require(same_dtype(argument.tensor.dtype, x.dtype), GPUKERN_TYPE_ERROR, argument.name,
          " must have the dtype of x, ", dtype_name(x.dtype), ", got ",
          dtype_name(argument.tensor.dtype));
  require(same_shape(argument.tensor, x), GPUKERN_VALUE_ERROR, argument.name,
          " must have the shape of x, ", x.shape_text(), ", got ", argument.tensor.shape_text());
}

/// Whether out shares memory with the input other than element for element.
bool clashes(const Tensor& out, const Tensor& input) {
  return may_overlap(out, input) && !same_layout(out, input);
}

SaxpyArgs saxpy_args(const void* a, const Tensor& x, const Tensor& y, const Tensor& out) {
  // Not as one initializer, for which GCC clears the whole struct first.
  SaxpyArgs args;
  args.dtype = x.dtype;
  args.x = x.data;
  args.y = y.data;
  args.out = out.data;
  args.item = x.item;
  std::memcpy(args.a, a, static_cast<std::size_t>(x.item));
  for (int d = 0; d < x.ndim; ++d)
    args.loop.push(x.shape[d], {x.stride[d], y.stride[d], out.stride[d]});
  args.loop.sort_by(2);
  args.loop.coalesce();
  return args;
}

void saxpy(const void* a, const gpukern_tensor* raw_x, const gpukern_tensor* raw_y,
           const gpukern_tensor* raw_out, const gpukern_exec* exec) {
  const Argument x("saxpy", "x", raw_x);
  const Argument y("saxpy", "y", raw_y);
  const Argument out("saxpy", "out", raw_out);
  require(a != nullptr, GPUKERN_VALUE_ERROR, "saxpy: a must not be NULL");
  require(is_saxpy_dtype(x.tensor.dtype), GPUKERN_TYPE_ERROR, x.name,
          " must have one of the dtypes ", SaxpyDtypeNames{}, ", got ", dtype_name(x.tensor.dtype));
  require_like(y, x.tensor);
  require_like(out, x.tensor);
  require_writable(out.tensor, out.name);
  const Call call("saxpy", {&x, &y, &out}, exec);
  if (out.tensor.count() == 0) return;

  const bool apart = clashes(out.tensor, x.tensor) || clashes(out.tensor, y.tensor);
  const Input x_here(call, x.tensor);
  const Input y_here(call, y.tensor);
  Output out_here(call, out.tensor, apart);
  call.backend.saxpy(saxpy_args(a, x_here.tensor(), y_here.tensor(), out_here.tensor()),
                     call.stream);
  out_here.finish();
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_saxpy(const void* a, const gpukern_tensor* x,
                                        const gpukern_tensor* y, const gpukern_tensor* out,
                                        const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::saxpy(a, x, y, out, exec); });
}

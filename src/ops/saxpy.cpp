// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/saxpy.hpp"

#include <array>
#include <cstring>

#include "src/runtime/chunked_call.hpp"

namespace gpukern {
namespace {

void require_dtype_of_x(const Argument& argument, const Tensor& x) {
  require(same_dtype(argument.tensor.dtype, x.dtype), GPUKERN_TYPE_ERROR, argument.name,
          " must have the dtype of x, ", dtype_name(x.dtype), ", got ",
          dtype_name(argument.tensor.dtype));
}

SaxpyArgs saxpy_args(const void* a, const Tensor& x, const Tensor& y, const Tensor& out) {
  // Not a single initializer, for which GCC clears the whole struct first.
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

SaxpyArgs part_of(const SaxpyArgs& args, const Slice<3>& slice) {
  SaxpyArgs part;
  part.dtype = args.dtype;
  std::memcpy(part.a, args.a, sizeof part.a);
  part.x = args.x + slice.offset[0];
  part.y = args.y + slice.offset[1];
  part.out = args.out + slice.offset[2];
  part.item = args.item;
  part.loop = slice.loop;
  return part;
}

using Operands = std::array<const Tensor*, 3>;

/// Computes host arrays on the device, where out shares the memory of a whole y.
void saxpy_offloaded(const Call& call, const SaxpyArgs& args, const Operands& operands,
                     std::int64_t limit, Progress& progress) {
  bool is_repeated = false;
  for (int d = 0; d < args.loop.ndim; ++d) is_repeated = is_repeated || args.loop.stride[1][d] == 0;
  const ChunkedCall<3> chunked(
      call, "saxpy: chunk", args.loop,
      {{.number = 0, .tensor = operands[0], .once = true},
       {.number = 1, .tensor = operands[1], .once = is_repeated},
       {.number = 2, .tensor = operands[2], .shares = is_repeated ? -1 : 1}},
      limit);
  chunked.run(progress, [&](const DeviceChunk<3>& chunk) {
    SaxpyArgs part = part_of(args, chunk.slice);
    part.x = chunk.data[0];
    part.y = chunk.data[1];
    part.out = chunk.data[2];
    part.loop = chunk.loop;
    call.device.run(part, chunk.stream);
  });
}

}  // namespace

void check_saxpy(Argument& x, Argument& y, const Argument& out) {
  require(is_saxpy_dtype(x.tensor.dtype), GPUKERN_TYPE_ERROR, x.name,
          " must have one of the dtypes ", SaxpyDtypeNames{}, ", got ", dtype_name(x.tensor.dtype));
  require_dtype_of_x(y, x.tensor);
  require_dtype_of_x(out, x.tensor);
  for (Argument* input : {&x, &y})
    if (!same_shape(input->tensor, out.tensor))
      input->tensor = broadcast_to(input->tensor, out.tensor, input->name);
  require_writable(out.tensor, out.name);
}

void run_saxpy(const Call& call, const void* a, const Tensor& x, const Tensor& y, const Tensor& out,
               const gpukern_exec* exec, Progress& progress) {
  const bool apart = clashes(out, x) || clashes(out, y);
  Output out_here(call, out, apart);
  const SaxpyArgs args = saxpy_args(a, x, y, out_here.tensor());
  const cpu::StopScope stop(progress.stop_source(call.device_id));
  if (call.is_offloaded())
    saxpy_offloaded(call, args, {&x, &y, &out_here.tensor()}, device_memory_limit(exec), progress);
  else if (progress.wanted() && !call.device_id.cuda)
    run_in_parts(args.loop, args.item, progress,
                 [&](const Slice<3>& slice) { call.device.run(part_of(args, slice), nullptr); });
  else
    call.device.run(args, call.stream);
  out_here.finish();
}

namespace {

void saxpy(const void* a, const gpukern_tensor* raw_x, const gpukern_tensor* raw_y,
           const gpukern_tensor* raw_out, const gpukern_exec* exec) {
  Argument x("saxpy", "x", raw_x);
  Argument y("saxpy", "y", raw_y);
  const Argument out("saxpy", "out", raw_out);
  require(a != nullptr, GPUKERN_VALUE_ERROR, "saxpy: a must not be NULL");
  check_saxpy(x, y, out);
  const Call call("saxpy", {&x, &y, &out}, exec);
  if (out.tensor.count() == 0) return;
  Progress progress("saxpy", exec);
  progress.expect(out.tensor.bytes());
  run_saxpy(call, a, x.tensor, y.tensor, out.tensor, exec, progress);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_saxpy(const void* a, const gpukern_tensor* x,
                                        const gpukern_tensor* y, const gpukern_tensor* out,
                                        const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::saxpy(a, x, y, out, exec); });
}

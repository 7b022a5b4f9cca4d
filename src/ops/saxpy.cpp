// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstring>

#include "src/runtime/backend.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/profiler_range.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {
namespace {

void require_like(const Argument& argument, const Tensor& x) {
  require(same_dtype(argument.tensor.dtype, x.dtype), GPUKERN_TYPE_ERROR, argument.name,
          " must have the dtype of x, ", dtype_name(x.dtype), ", got ",
          dtype_name(argument.tensor.dtype));
  require(same_shape(argument.tensor, x), GPUKERN_VALUE_ERROR, argument.name,
          " must have the shape of x, ", x.shape_text(), ", got ", argument.tensor.shape_text());
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

/// On the CPU, in parts of which the caller is told.
void saxpy_in_parts(Backend& backend, const SaxpyArgs& args, Progress& progress) {
  const std::int64_t total = args.loop.count() * args.item;
  const Slices<3> slices(args.loop, report_bytes(total) / args.item);
  for (std::int64_t k = 0; k < slices.count(); ++k) {
    const SaxpyArgs part = part_of(args, slices[k]);
    backend.saxpy(part, nullptr);
    progress.add(part.loop.count() * part.item);
  }
}

/// The part as it lies in a chunk, without gaps. y becomes out there, so a chunk is x and y.
SaxpyArgs on_device(const SaxpyArgs& part, const std::byte* x, std::byte* y) {
  SaxpyArgs there = part;
  there.x = x;
  there.y = there.out = y;
  there.loop = Loop<3>();
  there.loop.push(part.loop.count(), {part.item, part.item, part.item});
  return there;
}

void plan_through(const Call& call, const SaxpyArgs& args, const Pipeline::Operands& shape,
                  std::int64_t chunks) {
  const std::int64_t bytes = args.loop.count() * args.item;
  Pipeline::plan(*call.plan, shape, chunks);
  call.plan->bytes_to_device += 2 * bytes;
  call.plan->bytes_from_device += bytes;
  call.backend.saxpy(on_device(args, nullptr, nullptr), nullptr);
}

using Operands = std::array<const Tensor*, 3>;

/// Host arrays through the device.
void saxpy_through(const Call& call, const SaxpyArgs& args, const Operands& operands,
                   std::int64_t limit, Progress& progress) {
  std::array<bool, 3> staged{};
  for (int k = 0; k < 3; ++k)
    staged[k] = needs_staging(call.backend, *operands[k], layout_of(args.loop, k, args.item));
  const bool any = staged[0] || staged[1] || staged[2];
  const std::int64_t most =
      std::max(args.item, chunk_bytes(limit, 2, args.loop.count() * args.item, any));
  const Slices<3> slices(args.loop, most / args.item);
  const auto staging = [&](int k) { return staged[k] ? most : 0; };
  const Pipeline::Operands shape{{{most, staging(0)}, {most, staging(1)}, {0, staging(2)}}};
  if (call.plan != nullptr) return plan_through(call, args, shape, slices.count());
  Pipeline pipeline(call.backend, call.stream, progress, shape, slices.count());
  for (std::int64_t k = 0; k < slices.count(); ++k) {
    const Slice<3> slice = slices[k];
    const SaxpyArgs part = part_of(args, slice);
    Pipeline::Chunk& chunk = pipeline.next();
    const Range range("saxpy: chunk");
    chunk.send(0, part.x, layout_of(slice.loop, 0, args.item), chunk.memory(0));
    chunk.send(1, part.y, layout_of(slice.loop, 1, args.item), chunk.memory(1));
    const SaxpyArgs there = on_device(part, chunk.memory(0), chunk.memory(1));
    call.backend.saxpy(there, chunk.work());
    chunk.fetch(2, there.out, part.out, layout_of(slice.loop, 2, args.item));
  }
  pipeline.finish();
}

void run(const Call& call, const SaxpyArgs& args, const Operands& operands,
         const gpukern_exec* exec) {
  Progress progress("saxpy", exec);
  progress.expect(args.loop.count() * args.item);
  if (call.travels())
    saxpy_through(call, args, operands, device_memory_limit(exec), progress);
  else if (progress.wanted() && !call.device.cuda)
    saxpy_in_parts(call.backend, args, progress);
  else
    call.backend.saxpy(args, call.stream);
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
  Output out_here(call, out.tensor, apart);
  const SaxpyArgs args = saxpy_args(a, x.tensor, y.tensor, out_here.tensor());
  run(call, args, {&x.tensor, &y.tensor, &out_here.tensor()}, exec);
  out_here.finish();
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_saxpy(const void* a, const gpukern_tensor* x,
                                        const gpukern_tensor* y, const gpukern_tensor* out,
                                        const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::saxpy(a, x, y, out, exec); });
}

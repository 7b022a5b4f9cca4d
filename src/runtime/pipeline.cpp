// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gpukern/pipeline.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/runtime/call.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/profiler_range.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {
namespace {

constexpr int kOperands = 1 + GPUKERN_PIPELINE_MAX_INPUTS;

/// Operand 0 of a loop is out; the inputs follow.
constexpr int kMapOut = 0;

struct Step {
  gpukern_pipeline_step enqueue;
  void* user;
};

Place gpu_place(const gpukern_exec* exec) {
  checked_stream(exec);  // and that exec is one
  if (exec != nullptr && exec->device.device_type != GPUKERN_DEVICE_DEFAULT) {
    const Device device = checked_device(exec->device, {"map", "device"});
    require(device.cuda, GPUKERN_VALUE_ERROR, "map: device must be a CUDA device, got ",
            device_name(device));
    return {device, GPUKERN_RULE_ARGUMENT};
  }
  const bool named = wished_device() == Wish::kCuda;
  return {{.cuda = true}, named ? GPUKERN_RULE_ENVIRONMENT : GPUKERN_RULE_KERNEL};
}

/// A tensor of the host, repeated to a shape.
Tensor broadcast_to(const Argument& argument, const Tensor& shape) {
  const Tensor& tensor = argument.tensor;
  const int more = shape.ndim - tensor.ndim;
  bool fits = more >= 0;
  Tensor wide = tensor;
  wide.ndim = shape.ndim;
  wide.total = shape.total;
  for (int d = 0; fits && d < shape.ndim; ++d) {
    const std::int64_t size = d < more ? 1 : tensor.shape[d - more];
    fits = size == 1 || size == shape.shape[d];
    wide.shape[d] = shape.shape[d];
    wide.stride[d] = size == 1 ? 0 : tensor.stride[d - more];
  }
  require(fits, GPUKERN_VALUE_ERROR, argument.name, " must broadcast to the shape of out, ",
          shape.shape_text(), ", got ", tensor.shape_text());
  return wide;
}

void require_on_host(const Argument& argument) {
  require(!argument.tensor.device.cuda, GPUKERN_VALUE_ERROR, argument.name,
          " must lie on the host, got ", device_name(argument.tensor.device));
}

Loop<kOperands> loop_over(std::span<const Tensor> operands) {
  Loop<kOperands> loop;
  for (int d = 0; d < operands[kMapOut].ndim; ++d) {
    std::array<std::int64_t, kOperands> strides{};
    for (std::size_t k = 0; k < operands.size(); ++k) strides[k] = operands[k].stride[d];
    loop.push(operands[kMapOut].shape[d], strides);
  }
  loop.sort_by(kMapOut);
  loop.coalesce();
  return loop;
}

std::vector<bool> need_staging(Backend& device, std::span<const Tensor> operands,
                               const Loop<kOperands>& loop) {
  std::vector<bool> staged;
  for (const Tensor& operand : operands) {
    const auto k = static_cast<int>(staged.size());
    staged.push_back(needs_staging(device, operand, layout_of(loop, k, operand.item, true)));
  }
  return staged;
}

/// Operands that are cut along one loop.
class Map {
 public:
  Map(const Call& call, std::vector<Tensor> operands, std::int64_t limit)
      : call_(call),
        operands_(std::move(operands)),
        loop_(loop_over(operands_)),
        staged_(need_staging(call.backend, operands_, loop_)),
        slices_(loop_, positions(limit)) {}
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;
  ~Map() = default;

  void plan(gpukern_explanation& plan) const {
    Pipeline::plan(plan, shape(), slices_.count());
    for (std::int64_t number = 0; number < slices_.count(); ++number) {
      const Slice<kOperands> slice = slices_[number];
      for (int k = 1; k < operand_count(); ++k) plan.bytes_to_device += layout(slice, k).bytes();
    }
    const std::int64_t written = operands_[kMapOut].bytes();
    plan.bytes_from_device += written;
    plan.bytes_written += written;
    plan.bytes_read += plan.bytes_to_device;
    plan.path = in_chunk(slices_[0]).ndim <= 1 ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED;
  }

  void run(const Step& step, Progress& progress) const {
    Pipeline pipeline(call_.backend, call_.stream, progress, shape(), slices_.count());
    for (std::int64_t number = 0; number < slices_.count(); ++number)
      pass(pipeline.next(), slices_[number], step);
    pipeline.finish();
  }

 private:
  [[nodiscard]] int operand_count() const { return static_cast<int>(operands_.size()); }

  [[nodiscard]] Layout layout(const Slice<kOperands>& slice, int k) const {
    return layout_of(slice.loop, k, operands_[k].item, true);
  }

  /// Elements of a chunk.
  [[nodiscard]] std::int64_t positions(std::int64_t limit) const {
    const bool any_staged = std::ranges::find(staged_, true) != staged_.end();
    const std::int64_t widest = std::ranges::max(operands_, {}, &Tensor::item).item;
    // No more than that count would be bytes; a repeated operand may be said to have any number.
    const std::int64_t count =
        std::min(loop_.count(), std::numeric_limits<std::int64_t>::max() / widest);
    const std::int64_t bytes = chunk_bytes(limit, operand_count(), count * widest, any_staged);
    return std::max<std::int64_t>(1, bytes / widest);
  }

  /// What the operands take in a chunk: the first slice is as large as any.
  [[nodiscard]] Pipeline::Operands shape() const {
    const Slice<kOperands> largest = slices_[0];
    Pipeline::Operands found;
    for (int k = 0; k < operand_count(); ++k) {
      const std::int64_t bytes = layout(largest, k).bytes();
      found.push_back({bytes, staged_[static_cast<std::size_t>(k)] ? bytes : 0});
    }
    return found;
  }

  /// The slice as it lies in a chunk: without gaps, what repeats once.
  [[nodiscard]] Loop<kOperands> in_chunk(const Slice<kOperands>& slice) const {
    Loop<kOperands> there = slice.loop;
    for (int k = 0; k < operand_count(); ++k) {
      std::int64_t stride = operands_[k].item;
      for (int d = there.ndim - 1; d >= 0; --d) {
        if (there.stride[k][d] == 0) continue;
        there.stride[k][d] = stride;
        stride *= there.extent[d];
      }
    }
    there.coalesce();
    return there;
  }

  void pass(Pipeline::Chunk& chunk, const Slice<kOperands>& slice, const Step& step) const {
    const Range range("map: chunk");
    for (int k = 1; k < operand_count(); ++k)
      chunk.send(k, operands_[k].data + slice.offset[k], layout(slice, k), chunk.memory(k));
    compute(chunk, slice, step);
    const Tensor& out = operands_[kMapOut];
    chunk.fetch(kMapOut, chunk.memory(kMapOut), out.data + slice.offset[kMapOut],
                layout(slice, kMapOut));
  }

  void compute(Pipeline::Chunk& chunk, const Slice<kOperands>& slice, const Step& step) const {
    Loop<kOperands> loop = in_chunk(slice);
    std::array<gpukern_tensor, kOperands> tensors;
    for (int k = 0; k < operand_count(); ++k) {
      const Tensor& operand = operands_[k];
      for (int d = 0; d < loop.ndim; ++d) loop.stride[k][d] /= operand.item;
      tensors[k] = {.data = chunk.memory(k),
                    .device = {GPUKERN_CUDA, call_.device.id},
                    .ndim = loop.ndim,
                    .dtype = operand.dtype,
                    .shape = loop.extent,
                    .strides = loop.stride[k],
                    .byte_offset = 0};
    }
    const gpukern_pipeline_chunk there{.struct_size = sizeof(gpukern_pipeline_chunk),
                                       .count = loop.count(),
                                       .inputs = tensors.data() + 1,
                                       .input_count = operands_.size() - 1,
                                       .out = tensors[kMapOut],
                                       .stream = chunk.work()};
    const gpukern_status status = step.enqueue(step.user, &there);
    if (status != GPUKERN_SUCCESS) throw Error(status, gpukern_last_error());
  }

  const Call& call_;
  std::vector<Tensor> operands_;
  Loop<kOperands> loop_;
  std::vector<bool> staged_;  ///< packed and unpacked by the host
  Slices<kOperands> slices_;
};

void map(std::span<const gpukern_tensor* const> inputs, const gpukern_tensor* raw_out,
         const Step& step, const gpukern_exec* exec) {
  const Argument out("map", "out", raw_out);
  require(step.enqueue != nullptr, GPUKERN_VALUE_ERROR, "map: step must not be NULL");
  require_on_host(out);
  require_writable(out.tensor, out.name);
  std::vector<Tensor> operands{out.tensor};
  bool apart = false;
  for (const gpukern_tensor* raw : inputs) {
    const std::string name = "inputs[" + std::to_string(operands.size() - 1) + "]";
    const Argument input("map", name.c_str(), raw);
    require_on_host(input);
    operands.push_back(broadcast_to(input, out.tensor));
    apart = apart || clashes(out.tensor, operands.back());
  }
  const Call call(gpu_place(exec), {}, exec);
  if (out.tensor.count() == 0) return;

  Output out_here(call, out.tensor, apart);
  operands[kMapOut] = out_here.tensor();
  const Map whole(call, std::move(operands), device_memory_limit(exec));
  if (call.plan != nullptr) {
    whole.plan(*call.plan);
  } else {
    Progress progress("map", exec);
    progress.expect(out.tensor.bytes());
    whole.run(step, progress);
  }
  out_here.finish();
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_pipeline_run(const gpukern_tensor* const* inputs,
                                               size_t input_count, const gpukern_tensor* out,
                                               gpukern_pipeline_step step, void* user,
                                               const gpukern_exec* exec) {
  return gpukern::guard([&] {
    gpukern::require(input_count <= GPUKERN_PIPELINE_MAX_INPUTS, GPUKERN_VALUE_ERROR,
                     "map: there must be at most ", GPUKERN_PIPELINE_MAX_INPUTS, " inputs, got ",
                     input_count);
    gpukern::require(inputs != nullptr || input_count == 0, GPUKERN_VALUE_ERROR,
                     "map: inputs must not be NULL");
    gpukern::map({inputs, input_count}, out, {step, user}, exec);
  });
}

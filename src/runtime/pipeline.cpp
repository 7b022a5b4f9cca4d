// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gpukern/pipeline.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/runtime/call.hpp"
#include "src/runtime/chunked_call.hpp"

namespace gpukern {
namespace {

constexpr int kOperands = 1 + GPUKERN_PIPELINE_MAX_INPUTS;

/// Operand 0 of a loop is out; the inputs follow.
constexpr int kPipelineOut = 0;

struct Step {
  gpukern_pipeline_step enqueue;
  void* user;
};

DeviceChoice choose_gpu(const gpukern_exec* exec) {
  checked_stream(exec);  // validates exec
  if (exec != nullptr && exec->device.device_type != GPUKERN_DEVICE_DEFAULT) {
    const DeviceId device = checked_device(exec->device, {"pipeline_run", "device"});
    require(device.cuda, GPUKERN_VALUE_ERROR, "pipeline_run: device must be a CUDA device, got ",
            device_name(device));
    return {device, GPUKERN_RULE_ARGUMENT};
  }
  const bool named = default_device() == DefaultDevice::kCuda;
  return {{.cuda = true}, named ? GPUKERN_RULE_ENVIRONMENT : GPUKERN_RULE_KERNEL};
}

void require_on_host(const Argument& argument) {
  require(!argument.tensor.device.cuda, GPUKERN_VALUE_ERROR, argument.name,
          " must be in host memory, got ", device_name(argument.tensor.device));
}

Loop<kOperands> loop_over(std::span<const Tensor> operands) {
  Loop<kOperands> loop;
  for (int d = 0; d < operands[kPipelineOut].ndim; ++d) {
    std::array<std::int64_t, kOperands> strides{};
    for (std::size_t k = 0; k < operands.size(); ++k) strides[k] = operands[k].stride[d];
    loop.push(operands[kPipelineOut].shape[d], strides);
  }
  loop.sort_by(kPipelineOut);
  loop.coalesce();
  return loop;
}

/// A chunk as it is passed to the step.
gpukern_status compute(const DeviceChunk<kOperands>& chunk, std::span<const Tensor> operands,
                       DeviceId device, const Step& step) {
  Loop<kOperands> loop = chunk.loop;
  std::array<gpukern_tensor, kOperands> tensors;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Tensor& operand = operands[k];
    for (int d = 0; d < loop.ndim; ++d) loop.stride[k][d] /= operand.item;
    tensors[k] = {.data = chunk.data[k],
                  .device = {GPUKERN_CUDA, device.id},
                  .ndim = loop.ndim,
                  .dtype = operand.dtype,
                  .shape = loop.extent,
                  .strides = loop.stride[k],
                  .byte_offset = 0};
  }
  const gpukern_pipeline_chunk there{.struct_size = sizeof(gpukern_pipeline_chunk),
                                     .count = loop.count(),
                                     .inputs = tensors.data() + 1,
                                     .input_count = operands.size() - 1,
                                     .out = tensors[kPipelineOut],
                                     .stream = chunk.stream};
  return step.enqueue(step.user, &there);
}

void explain(const DeviceChunk<kOperands>& chunk, gpukern_explanation& explanation) {
  for (int k = 1; k < kOperands; ++k) add_reported(explanation.bytes_read, chunk.bytes[k]);
  add_reported(explanation.bytes_written, chunk.bytes[kPipelineOut]);
  explanation.path = chunk.loop.ndim <= 1 ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED;
}

void run(const Call& call, std::span<const Tensor> operands, const Step& step,
         const gpukern_exec* exec) {
  const Loop<kOperands> loop = loop_over(operands);
  std::vector<ChunkOperand> crossing;
  for (std::size_t k = 1; k < operands.size(); ++k)
    crossing.push_back({.number = static_cast<int>(k), .tensor = &operands[k], .once = true});
  crossing.push_back({.number = kPipelineOut, .tensor = &operands[kPipelineOut], .once = true});
  const ChunkedCall<kOperands> chunked(call, "pipeline: chunk", loop, std::move(crossing),
                                       device_memory_limit(exec));
  Progress progress("pipeline_run", exec);
  progress.expect(operands[kPipelineOut].bytes());
  chunked.run(progress, [&](const DeviceChunk<kOperands>& chunk) {
    if (call.explanation != nullptr) return explain(chunk, *call.explanation);
    const gpukern_status status = compute(chunk, operands, call.device_id, step);
    if (status != GPUKERN_SUCCESS) throw Error(status, gpukern_last_error());
  });
}

void pipeline_run(std::span<const gpukern_tensor* const> inputs, const gpukern_tensor* raw_out,
                  const Step& step, const gpukern_exec* exec) {
  const Argument out("pipeline_run", "out", raw_out);
  require(step.enqueue != nullptr, GPUKERN_VALUE_ERROR, "pipeline_run: step must not be NULL");
  require_on_host(out);
  require_writable(out.tensor, out.name);
  std::vector<Tensor> operands{out.tensor};
  bool apart = false;
  for (const gpukern_tensor* raw : inputs) {
    const auto position = static_cast<std::int64_t>(operands.size()) - 1;
    const Argument input({"pipeline_run", "inputs", position}, raw);
    require_on_host(input);
    operands.push_back(broadcast_to(input.tensor, out.tensor, input.name));
    apart = apart || clashes(out.tensor, operands.back());
  }
  const Call call(choose_gpu(exec), {}, exec);
  if (out.tensor.count() == 0) return;

  Output out_here(call, out.tensor, apart);
  operands[kPipelineOut] = out_here.tensor();
  run(call, operands, step, exec);
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
                     "pipeline_run: there must be at most ", GPUKERN_PIPELINE_MAX_INPUTS,
                     " inputs, got ", input_count);
    gpukern::require(inputs != nullptr || input_count == 0, GPUKERN_VALUE_ERROR,
                     "pipeline_run: inputs must not be NULL");
    gpukern::pipeline_run({inputs, input_count}, out, {step, user}, exec);
  });
}

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/selection.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {
namespace {

/// Counts the nonzero elements of a mask on the device of its memory.
std::int64_t count_on(Device& device, const Tensor& mask, Stream stream) {
  SelectArgs args = mask_args(mask);
  // Elements are counted in any order.
  for (int d = 0; d < args.loop.ndim; ++d) {
    std::int64_t& stride = args.loop.stride[0][d];
    if (stride >= 0) continue;
    args.mask += (args.loop.extent[d] - 1) * stride;
    stride = -stride;
  }
  args.loop.sort_by(0);
  args.loop.coalesce();
  return device.count_nonzero(args, stream);
}

void count_nonzero(const gpukern_tensor* raw_mask, std::int64_t* count, const gpukern_exec* exec) {
  const Argument mask("count_nonzero", "mask", raw_mask);
  require(count != nullptr, GPUKERN_VALUE_ERROR, "count_nonzero: count must not be NULL");
  require_mask_dtype(mask);
  const Call call("count_nonzero", {&mask}, exec);
  require(call.device.capture_of(call.stream) == 0, GPUKERN_VALUE_ERROR,
          "count_nonzero must not be called while a CUDA graph is captured: it has to wait for the "
          "stream");
  *count = 0;
  if (mask.tensor.count() == 0) return;
  Progress progress("count_nonzero", exec);
  progress.expect(1);  // there is no output to count: the callback is only asked
  const cpu::StopScope stop(progress.stop_source(call.device_id));
  const bool fits = fits_memory({mask.tensor.bytes()}, device_memory_limit(exec));
  if (call.is_offloaded() && !fits && call.explanation != nullptr)
    call.explanation->rule = GPUKERN_RULE_MEMORY;
  if (!call.is_offloaded() || !fits) {
    *count = count_on(call.data_device, mask.tensor, call.stream);
    return;
  }
  const OperandCopy copy(call, call.device, call.device_id, mask.tensor);
  *count = count_on(call.device, copy.tensor(), call.stream);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_count_nonzero(const gpukern_tensor* mask, int64_t* count,
                                                const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::count_nonzero(mask, count, exec); });
}

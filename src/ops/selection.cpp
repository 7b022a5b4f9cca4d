// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/selection.hpp"

#include <cstddef>

#include "src/runtime/chunk_pipeline.hpp"

namespace gpukern {
namespace {

/// The bits of a word of 8 bytes that are 0 in a zero: all but the signs of floating-point numbers.
/// 0 for a dtype that has no such bits.
std::uint64_t nonzero_bits(gpukern_dtype dtype) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (dtype.lanes != 1) return 0;
  switch (dtype.code) {
    case GPUKERN_BOOL:
      return dtype.bits == 8 ? kAll : 0;
    case GPUKERN_INT:
    case GPUKERN_UINT:
      return is_index_dtype(dtype) ? kAll : 0;
    case GPUKERN_BFLOAT:
      return dtype.bits == 16 ? kAll >> 49 : 0;
    case GPUKERN_FLOAT:
      return dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64 ? kAll >> (65 - dtype.bits)
                                                                      : 0;
    case GPUKERN_COMPLEX:
      if (dtype.bits == 64) return 0x7fffffff7fffffff;
      return dtype.bits == 128 ? kAll >> 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

void require_mask_dtype(const Argument& mask) {
  require(nonzero_bits(mask.tensor.dtype) != 0, GPUKERN_TYPE_ERROR, mask.name,
          " must be bool, an integer, float16, bfloat16, float32, float64, complex64 or complex128,"
          " got ",
          dtype_name(mask.tensor.dtype));
}

const gpukern_tensor* checked_fill(const char* function, const gpukern_select_options* options) {
  if (options == nullptr) return nullptr;
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_select_options, fill_value) + sizeof(const gpukern_tensor*);
  require_struct_size(ArgumentName{function, "options"}, options->struct_size, kFirstSize);
  return options->fill_value;
}

SelectArgs mask_args(const Tensor& mask) {
  SelectArgs args;
  args.mask = mask.data;
  args.item = mask.item;
  args.bits = nonzero_bits(mask.dtype);
  for (int d = 0; d < mask.ndim; ++d) args.loop.push(mask.shape[d], {mask.stride[d]});
  args.loop.coalesce();
  return args;
}

void run_selection(const Call& call, const char* function, const SelectOperands& operands,
                   const gpukern_exec* exec, const EnqueueSelection& enqueue) {
  const auto& [mask, x, given_out, axis, first, stream, fill] = operands;
  const bool apart = may_overlap(given_out, mask) || (x != nullptr && may_overlap(given_out, *x)) ||
                     (fill != nullptr && may_overlap(given_out, *fill));
  Progress progress(function, exec);
  progress.expect(given_out.bytes());
  const cpu::StopScope stop(progress.stop_source(call.device_id));
  Output out(call, given_out, apart);
  const SelectOperands here{mask, x, out.tensor(), axis, 0, call.stream, fill};
  if (call.is_offloaded() && mask.count() > 0 && (x == nullptr || x->count() > 0)) {
    select_in_chunks(call, here, device_memory_limit(exec), progress, enqueue);
  } else {
    enqueue(call.data_device, here);
    if (!given_out.device.cuda) progress.add(given_out.bytes());
  }
  out.finish();
}

}  // namespace gpukern

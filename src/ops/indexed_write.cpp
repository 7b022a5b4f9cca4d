// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexed_write.hpp"

#include <cstddef>
#include <optional>

#include "src/core/reduce.hpp"
#include "src/runtime/chunk_pipeline.hpp"

namespace gpukern {

const gpukern_scatter_options& checked_options(const char* function,
                                               const gpukern_scatter_options* options) {
  static constexpr gpukern_scatter_options kDefaults = GPUKERN_SCATTER_OPTIONS_INIT;
  if (options == nullptr) return kDefaults;
  // The size in ABI 1. Read a later field only if struct_size covers it.
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_scatter_options, further_indices) + sizeof(gpukern_tensor*);
  require(options->struct_size >= kFirstSize, GPUKERN_VALUE_ERROR, function,
          ": options must have struct_size = ", kFirstSize, " or more, got ", options->struct_size);
  require_mode(function, options->mode);
  require(
      options->reduce >= GPUKERN_REDUCE_NONE && options->reduce <= GPUKERN_REDUCE_MEAN,
      GPUKERN_VALUE_ERROR, function,
      ": reduce must be one of none (0), add (1), multiply (2), min (3), max (4), mean (5), got ",
      options->reduce);
  require(options->order == GPUKERN_ORDER_FIXED || options->order == GPUKERN_ORDER_ANY,
          GPUKERN_VALUE_ERROR, function, ": order must be fixed (0) or any (1), got ",
          options->order);
  require_further_indices(function, options->further_indices, options->further_index_count);
  return *options;
}

namespace {

void require_reduced_dtype(const Argument& target, gpukern_reduce reduce) {
  static constexpr const char* kNames[] = {"none", "add", "multiply", "min", "max", "mean"};
  if (reduce == GPUKERN_REDUCE_NONE) return;
  bool has = false;
  visit_reduced_dtype(target.tensor.dtype,
                      [&](auto tag) { has = has_reduction<typename decltype(tag)::type>(reduce); });
  require(has, GPUKERN_TYPE_ERROR, target.name, " must be of a dtype that reduce '", kNames[reduce],
          "' takes, got ", dtype_name(target.tensor.dtype));
}

/// Without a reduction, makes columns as long as possible: merges contiguous inner dimensions.
void join_columns(ScatterArgs& args) {
  Loop<2>& loop = args.columns;
  while (loop.ndim > 0) {
    const int d = loop.ndim - 1;
    if (loop.stride[kTargetColumn][d] != args.item || loop.stride[kValueColumn][d] != args.item)
      return;
    args.item *= loop.extent[d];
    --loop.ndim;
  }
}

ScatterArgs scatter_args(const IndexedWrite& write, const gpukern_scatter_options& options,
                         const WriteOperands& operands) {
  const auto& [target, index, values] = operands;
  ScatterArgs args;  // not as one initializer, for which GCC clears the whole struct first
  args.target = target.data;
  args.index = index.data;
  args.values = values.data;
  args.dtype = target.dtype;
  args.item = target.item;
  args.n = write.axis.n;
  args.index_type = index_type(index);
  args.mode = static_cast<gpukern_index_mode>(options.mode);
  args.reduce = static_cast<gpukern_reduce>(options.reduce);
  args.any_order = options.order == GPUKERN_ORDER_ANY;
  args.unique = options.unique != 0;
  write.make_loops(operands, write.axis, args);
  args.updates.coalesce();
  args.keys.coalesce();
  args.columns.sort_by(kTargetColumn);
  args.columns.coalesce();
  if (args.reduce == GPUKERN_REDUCE_NONE) join_columns(args);
  return args;
}

void run_here(const IndexedWrite& write, const gpukern_scatter_options& options, const Tensor& out,
              const Call& call, Device& device) {
  const Tensor* index = &write.index.tensor;
  const Tensor* values = &write.values.tensor;
  std::optional<OperandCopy> index_apart;
  std::optional<OperandCopy> values_apart;
  if (may_overlap(out, *index))
    index = &index_apart.emplace(call, device, out.device, *index).tensor();
  if (may_overlap(out, *values))
    values = &values_apart.emplace(call, device, out.device, *values).tensor();
  if (write.out != nullptr) call.move(write.target.tensor, out);
  device.run(scatter_args(write, options,
                          {out, *index, broadcast_to(*values, write.shape, write.values.name)}),
             call.stream);
}

/// Computes host arrays on a GPU. They are copied as a whole; those that do not fit are computed on
/// the CPU.
void run_offloaded(const IndexedWrite& write, const gpukern_scatter_options& options,
                   const Tensor& out, const Call& call, const gpukern_exec* exec) {
  const Tensor& given = write.target.tensor;
  if (!fits_memory({given.bytes(), write.index.tensor.bytes(), write.values.tensor.bytes()},
                   device_memory_limit(exec))) {
    if (call.explanation != nullptr) call.explanation->rule = GPUKERN_RULE_MEMORY;
    return run_here(write, options, out, call, call.data_device);
  }
  const OperandCopy target(call, call.device, call.device_id, given);
  const OperandCopy index(call, call.device, call.device_id, write.index.tensor);
  const OperandCopy values(call, call.device, call.device_id, write.values.tensor);
  call.device.run(scatter_args(write, options,
                               {target.tensor(), index.tensor(),
                                broadcast_to(values.tensor(), write.shape, write.values.name)}),
                  call.stream);
  call.move(target.tensor(), out);
}

}  // namespace

void run_indexed_write(const IndexedWrite& write, const gpukern_scatter_options& options,
                       const gpukern_exec* exec) {
  const auto& [function, target, index, values, raw_out, axis, shape, make_loops] = write;
  require(same_dtype(values.tensor.dtype, target.tensor.dtype), GPUKERN_TYPE_ERROR, values.name,
          " must have the target's dtype ", dtype_name(target.tensor.dtype), ", got ",
          dtype_name(values.tensor.dtype));
  require_reduced_dtype(target, static_cast<gpukern_reduce>(options.reduce));
  std::optional<Argument> given_out;
  const Argument& out = raw_out == nullptr ? target : given_out.emplace(function, "out", raw_out);
  require_indexed_out(out, "target", target.tensor, target.tensor);
  const std::int64_t updates = broadcast_to(values.tensor, shape, values.name).count();
  const Call call(function, {&target, &index, &values, &out}, exec);
  require(axis.n > 0 || updates == 0, GPUKERN_INDEX_ERROR,
          "cannot do a non-empty put to an empty axis.");
  if (options.mode == GPUKERN_INDEX_RAISE && index.tensor.count() > 0)
    require_in_bounds(call, index.tensor, axis);
  if (updates == 0) {
    if (raw_out != nullptr) call.move(target.tensor, out.tensor);
  } else if (call.is_offloaded()) {
    run_offloaded(write, options, out.tensor, call, exec);
  } else {
    run_here(write, options, out.tensor, call, call.device);
  }
}

}  // namespace gpukern

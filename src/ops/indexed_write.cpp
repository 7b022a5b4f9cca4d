// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexed_write.hpp"

#include <cstddef>
#include <memory>

#include "src/ops/scatter_offload.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

const gpukern_scatter_options& checked_options(const char* function,
                                               const gpukern_scatter_options* options) {
  static constexpr gpukern_scatter_options kDefaults = GPUKERN_SCATTER_OPTIONS_INIT;
  if (options == nullptr) return kDefaults;
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_scatter_options, further_indices) + sizeof(gpukern_tensor*);
  require_struct_size(ArgumentName{function, "options"}, options->struct_size, kFirstSize);
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

/// The arguments for single elements: join_columns() must be called before a device uses them.
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
  return args;
}

/// Calls run(args) with inputs that do not overlap `out`, which is the target or becomes its copy.
template <class Run>
void run_apart(const IndexedWrite& write, const gpukern_scatter_options& options, const Tensor& out,
               const Call& call, const Run& run) {
  const Tensor* index = &write.index.tensor;
  const Tensor* values = &write.values.tensor;
  // Pointers: GCC writes zeros to all of an optional tensor, as long as a small call takes.
  std::unique_ptr<const OperandCopy> index_apart;
  std::unique_ptr<const OperandCopy> values_apart;
  const auto copy_of = [&](const Tensor& tensor) {
    return std::make_unique<const OperandCopy>(call, call.data_device, out.device, tensor);
  };
  if (may_overlap(out, *index)) {
    index_apart = copy_of(*index);
    index = &index_apart->tensor();
  }
  if (may_overlap(out, *values)) {
    values_apart = copy_of(*values);
    values = &values_apart->tensor();
  }
  if (&out != &write.target.tensor) call.move(write.target.tensor, out);
  run(scatter_args(write, options,
                   {out, *index, broadcast_to(*values, write.shape, write.values.name)}));
}

/// Whether the keys of the updates are the positions that the indices name, in the same order.
bool has_keys_of_index(const ScatterArgs& args, const Tensor& index) {
  bool equal = args.updates.count() == index.count();
  for (int d = 0; d < args.updates.ndim; ++d) equal = equal && args.updates.stride[kKey][d] == 0;
  return equal;
}

void run_here(const IndexedWrite& write, const gpukern_scatter_options& options, const Tensor& out,
              const Call& call, bool sorted) {
  run_apart(write, options, out, call, [&](ScatterArgs&& args) {
    join_columns(args);
    args.sorted = sorted && has_keys_of_index(args, write.index.tensor);
    call.data_device.run(args, call.stream);
  });
}

/// Copies all operands to a GPU, and the result back.
void run_whole(const IndexedWrite& write, const gpukern_scatter_options& options, const Tensor& out,
               const Call& call) {
  const OperandCopy target(call, call.device, call.device_id, write.target.tensor);
  const OperandCopy index(call, call.device, call.device_id, write.index.tensor);
  const OperandCopy values(call, call.device, call.device_id, write.values.tensor);
  ScatterArgs args = scatter_args(write, options,
                                  {target.tensor(), index.tensor(),
                                   broadcast_to(values.tensor(), write.shape, write.values.name)});
  join_columns(args);
  call.device.run(args, call.stream);
  call.move(target.tensor(), out);
}

/// Computes host arrays on a GPU, in chunks unless they fit as a whole. Returns false if it has not
/// the memory for one element.
bool run_offloaded(const IndexedWrite& write, const gpukern_scatter_options& options,
                   const Tensor& out, const Call& call, const gpukern_exec* exec,
                   Progress& progress) {
  const std::int64_t limit = device_memory_limit(exec);
  const ScatterArgs args = scatter_args(
      write, options,
      {out, write.index.tensor, broadcast_to(write.values.tensor, write.shape, write.values.name)});
  if (fits_memory({write.target.tensor.bytes(), write.index.tensor.bytes(),
                   write.values.tensor.bytes(), scatter_scratch(args)},
                  limit)) {
    run_whole(write, options, out, call);
    progress.add(out.bytes());
    return true;
  }
  const std::int64_t chunk_bytes = scatter_chunk(args, limit);
  if (chunk_bytes == 0) return false;
  Output target_here(call, out, args.keys.ndim > 1);
  run_apart(write, options, target_here.tensor(), call,
            [&](const ScatterArgs& all) { scatter_in_chunks(call, all, chunk_bytes, progress); });
  target_here.finish();
  return true;
}

bool is_number_on_host(const Tensor& tensor) { return !tensor.device.cuda && tensor.ndim == 0; }

/// Whether a tensor in host memory is one element, repeated or not, or empty.
bool repeats_number_on_host(const Tensor& tensor) {
  bool repeats = !tensor.device.cuda;
  for (int d = 0; d < tensor.ndim; ++d) repeats = repeats && tensor.stride[d] == 0;
  return repeats;
}

/// The first element.
Tensor first_element(Tensor tensor) {
  tensor.ndim = 0;
  tensor.total = 1;
  return tensor;
}

/// Checks the indices, but those of a tuple, and writes `updates` values.
void run_checked(const IndexedWrite& write, gpukern_scatter_options options, const Tensor& out,
                 std::int64_t updates, const Call& call, const gpukern_exec* exec,
                 Progress& progress) {
  bool sorted = false;
  if (options.mode == GPUKERN_INDEX_RAISE && write.index.tensor.count() > 0) {
    const IndexedAxis indexed{&write.index.tensor, write.axis};
    if (call.index_errors == nullptr)
      sorted = require_in_bounds_and_order(call, indexed);
    else
      options.mode = check_bounds(call, write.function, {&indexed, 1});
  }
  if (updates == 0) {
    if (write.out != nullptr) call.move(write.target.tensor, out);
    return;
  }
  if (call.is_offloaded()) {
    if (run_offloaded(write, options, out, call, exec, progress)) return;
    if (call.explanation != nullptr) call.explanation->rule = GPUKERN_RULE_MEMORY;
  }
  run_here(write, options, out, call, sorted);
  if (!out.device.cuda) progress.add(out.bytes());
}

}  // namespace

void run_indexed_write(const IndexedWrite& write, const gpukern_scatter_options& given_options,
                       const gpukern_exec* exec) {
  const auto& [function, target, index, values, raw_out, axis, shape, make_loops, tuple] = write;
  gpukern_scatter_options options = given_options;
  require(same_dtype(values.tensor.dtype, target.tensor.dtype), GPUKERN_TYPE_ERROR, values.name,
          " must have the target's dtype ", dtype_name(target.tensor.dtype), ", got ",
          dtype_name(values.tensor.dtype));
  if (options.reduce != GPUKERN_REDUCE_NONE)
    require_reduced_dtype(target, static_cast<gpukern_reduce>(options.reduce), "add");
  const Argument given_out = raw_out == nullptr ? target : Argument(function, "out", raw_out);
  const Argument& out = raw_out == nullptr ? target : given_out;
  require_indexed_out(out, "the target", target.tensor, target.tensor);
  const std::int64_t updates = broadcast_to(values.tensor, shape, values.name).count();
  // A GPU gets copies of numbers in host memory.
  const Argument& on = target.tensor.device.cuda ? target : out;
  const bool on_gpu = on.tensor.device.cuda;
  const bool target_is_number = on_gpu && repeats_number_on_host(target.tensor);
  const bool index_is_number = on_gpu && tuple == nullptr && is_number_on_host(index.tensor);
  const bool value_is_number = on_gpu && is_number_on_host(values.tensor);
  const Call call(function,
                  {target_is_number ? &on : &target, index_is_number ? &on : &index,
                   value_is_number ? &on : &values, &out},
                  exec);
  Progress progress(function, exec);
  progress.expect(out.tensor.bytes());
  const cpu::StopScope stop(progress.stop_source(call.device_id));
  if (tuple != nullptr) {
    if (options.mode == GPUKERN_INDEX_RAISE) options.mode = tuple->check_bounds(exec);
    options.mode = tuple->ravel(options.mode, exec);
  }
  require(axis.n > 0 || updates == 0, GPUKERN_INDEX_ERROR,
          "cannot do a non-empty put to an empty axis.");
  if (!target_is_number && !index_is_number && !value_is_number)
    return run_checked(write, options, out.tensor, updates, call, exec, progress);
  if (index_is_number && options.mode == GPUKERN_INDEX_RAISE && call.index_errors == nullptr) {
    require_number_in_bounds(call, {&index.tensor, axis});
    options.mode = GPUKERN_INDEX_WRAP;  // which is the same for it
  }
  std::unique_ptr<const OperandCopy> target_copy;
  std::unique_ptr<const OperandCopy> index_copy;
  std::unique_ptr<const OperandCopy> value_copy;
  const auto there = [&](std::unique_ptr<const OperandCopy>& copy, const Argument& given) {
    if (given.tensor.count() == 0) return out;
    copy = std::make_unique<const OperandCopy>(call, call.device, call.device_id,
                                               first_element(given.tensor));
    return Argument(given.name, broadcast_to(copy->tensor(), given.tensor, given.name));
  };
  const Argument target_there = target_is_number ? there(target_copy, target) : target;
  const Argument index_there = index_is_number ? there(index_copy, index) : index;
  const Argument values_there = value_is_number ? there(value_copy, values) : values;
  run_checked(
      {function, target_there, index_there, values_there, raw_out, axis, shape, make_loops, tuple},
      options, out.tensor, updates, call, exec, progress);
}

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexed_reduction.hpp"

#include <cstddef>
#include <optional>

#include "src/ops/reduce_offload.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {
namespace {

const gpukern_gather_reduce_options& checked(const char* function, bool has_index,
                                             const gpukern_gather_reduce_options* options) {
  static constexpr gpukern_gather_reduce_options kDefaults = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  if (options == nullptr) return kDefaults;
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_gather_reduce_options, reduce) + sizeof(std::int32_t);
  require_struct_size(ArgumentName{function, "options"}, options->struct_size, kFirstSize);
  if (has_index) require_mode(function, options->mode);
  require(has_index || options->mode == GPUKERN_INDEX_RAISE || options->mode == GPUKERN_INDEX_CLIP,
          GPUKERN_VALUE_ERROR, function, ": mode must be raise (0) or clip (2), got ",
          options->mode);
  const std::int32_t reduce = options->reduce;
  require(reduce == GPUKERN_REDUCE_ADD || reduce == GPUKERN_REDUCE_MIN ||
              reduce == GPUKERN_REDUCE_MAX || reduce == GPUKERN_REDUCE_MEAN,
          GPUKERN_VALUE_ERROR, function,
          ": reduce must be one of add (1), min (3), max (4), mean (5), got ", reduce);
  return *options;
}

void require_vector(const Argument& argument, std::int64_t least) {
  require(argument.tensor.ndim == 1 && argument.tensor.count() >= least, GPUKERN_VALUE_ERROR,
          argument.name, " must have one dimension", least > 0 ? " and one element or more" : "",
          ", got shape ", argument.tensor.shape_text());
}

void require_weights(const Argument& weights, const Tensor& source, const Tensor& index,
                     gpukern_reduce reduce) {
  require(reduce == GPUKERN_REDUCE_ADD, GPUKERN_VALUE_ERROR, weights.name,
          " must be left out unless reduce is sum");
  require(same_dtype(weights.tensor.dtype, source.dtype), GPUKERN_TYPE_ERROR, weights.name,
          " must have the source's dtype ", dtype_name(source.dtype), ", got ",
          dtype_name(weights.tensor.dtype));
  require(same_shape(weights.tensor, index), GPUKERN_VALUE_ERROR, weights.name,
          " must have the index's shape ", index.shape_text(), ", got ",
          weights.tensor.shape_text());
}

/// The shape of the output: the axis replaced by the bags.
Tensor reduced_shape(const IndexedReduction& reduction, const Axis& axis) {
  Tensor bags;
  bags.ndim = 1;
  bags.shape[0] = reduction.offsets.tensor.shape[0] - 1;
  return indexed_shape(reduction.function, reduction.source.tensor, bags, axis);
}

const Tensor* tensor_of(const Argument* argument) {
  return argument != nullptr ? &argument->tensor : nullptr;
}

/// The tensors of a call where it runs; index and weights may be nullptr.
struct Operands {
  const Tensor& source;
  const Tensor* index;
  const Tensor& offsets;
  const Tensor* weights;
  const Tensor& out;
};

GatherReduceArgs reduce_args(const Operands& operands, const Axis& axis,
                             const gpukern_gather_reduce_options& options) {
  const auto& [source, index, offsets, weights, out] = operands;
  GatherReduceArgs args;  // not as one initializer, for which GCC clears the whole struct first
  args.source = source.data;
  args.offsets = offsets.data;
  args.out = out.data;
  args.dtype = source.dtype;
  args.item = source.item;
  args.bags = offsets.shape[0] - 1;
  args.count = index != nullptr ? index->count() : axis.n;
  args.n = axis.n;
  args.mode = static_cast<gpukern_index_mode>(options.mode);
  args.reduce = static_cast<gpukern_reduce>(options.reduce);
  args.offset_step = offsets.stride[0];
  args.offset_type = index_type(offsets);
  if (index != nullptr) {
    args.index = index->data;
    args.index_step = index->stride[0];
    args.index_type = index_type(*index);
  }
  if (weights != nullptr) {
    args.weights = weights->data;
    args.weight_step = weights->stride[0];
  }
  args.out_step = out.stride[axis.first];
  for (int d = axis.first; d < axis.last; ++d) args.axis.push(source.shape[d], {source.stride[d]});
  args.axis.coalesce();
  const int added = 1 - (axis.last - axis.first);  // dimensions of out before those after the axis
  for (int d = 0; d < source.ndim; ++d)
    if (d < axis.first || d >= axis.last)
      args.columns.push(source.shape[d],
                        {out.stride[d < axis.first ? d : d + added], source.stride[d]});
  args.columns.sort_by(kSourceColumn);
  args.columns.coalesce();
  return args;
}

/// Calls run(args) with an output that overlaps no input.
template <class Run>
void run_apart(const IndexedReduction& reduction, const gpukern_gather_reduce_options& options,
               const Axis& axis, const Call& call, const Tensor& source, const Run& run) {
  const Tensor& out = reduction.out.tensor;
  const Tensor* const index = tensor_of(reduction.index);
  const Tensor* const weights = tensor_of(reduction.weights);
  const auto overlaps = [&](const Tensor* input) {
    return input != nullptr && may_overlap(out, *input);
  };
  Output out_here(call, out,
                  overlaps(&source) || overlaps(&reduction.offsets.tensor) || overlaps(index) ||
                      overlaps(weights));
  run(reduce_args({source, index, reduction.offsets.tensor, weights, out_here.tensor()}, axis,
                  options));
  out_here.finish();
}

/// Copies all operands to a GPU, and the result back.
void run_whole(const IndexedReduction& reduction, const gpukern_gather_reduce_options& options,
               const Axis& axis, const Call& call) {
  const Tensor& out = reduction.out.tensor;
  const OperandCopy source(call, call.device, call.device_id, reduction.source.tensor);
  const OperandCopy offsets(call, call.device, call.device_id, reduction.offsets.tensor);
  std::optional<OperandCopy> index;
  std::optional<OperandCopy> weights;
  const auto copied = [&](const Argument* argument,
                          std::optional<OperandCopy>& copy) -> const Tensor* {
    if (argument == nullptr) return nullptr;
    return &copy.emplace(call, call.device, call.device_id, argument->tensor).tensor();
  };
  const Tensor* const index_there = copied(reduction.index, index);
  const Tensor* const weights_there = copied(reduction.weights, weights);
  const Buffer memory(call.device, out.bytes(), call.stream);
  const Tensor result = contiguous_at(memory.data(), call.device_id, out);
  call.device.run(
      reduce_args({source.tensor(), index_there, offsets.tensor(), weights_there, result}, axis,
                  options),
      call.stream);
  call.move(result, out);
}

/// Computes host arrays on a GPU, in chunks unless they fit as a whole. Returns false if it has not
/// the memory for one column of a source that is read by an index.
bool run_offloaded(const IndexedReduction& reduction, const gpukern_gather_reduce_options& options,
                   const Axis& axis, const Call& call, const gpukern_exec* exec,
                   Progress& progress) {
  const auto& [function, name, source, index, offsets, weights, out, number] = reduction;
  const auto bytes_of = [](const Argument* argument) {
    return argument != nullptr ? argument->tensor.bytes() : 0;
  };
  const std::int64_t limit = device_memory_limit(exec);
  const GatherReduceArgs args =
      reduce_args({source.tensor, tensor_of(index), offsets.tensor, tensor_of(weights), out.tensor},
                  axis, options);
  if (fits_memory({source.tensor.bytes(), offsets.tensor.bytes(), out.tensor.bytes(),
                   bytes_of(index), bytes_of(weights), reduce_scratch(args)},
                  limit)) {
    run_whole(reduction, options, axis, call);
    progress.add(out.tensor.bytes());
    return true;
  }
  const ReduceChunks chunks = reduce_chunks(args, limit);
  if (chunks.columns == 0) return false;
  std::optional<OperandCopy> flat;  // whose items have one stride
  if (index == nullptr && args.axis.ndim > 1)
    flat.emplace(call, call.data_device, source.tensor.device, source.tensor);
  run_apart(reduction, options, axis, call, flat ? flat->tensor() : source.tensor,
            [&](const GatherReduceArgs& all) { reduce_in_chunks(call, all, chunks, progress); });
  return true;
}

}  // namespace

void run_indexed_reduction(const IndexedReduction& reduction,
                           const gpukern_gather_reduce_options* raw_options,
                           const gpukern_exec* exec) {
  const auto& [function, source_name, source, index, offsets, weights, out, number] = reduction;
  gpukern_gather_reduce_options options = checked(function, index != nullptr, raw_options);
  const auto reduce = static_cast<gpukern_reduce>(options.reduce);
  require_reduced_dtype(source, reduce, "sum");
  if (index != nullptr) {
    require_index_dtype(*index);
    require_vector(*index, 0);
  }
  require_index_dtype(offsets);
  require_vector(offsets, 1);
  if (index != nullptr && weights != nullptr)
    require_weights(*weights, source.tensor, index->tensor, reduce);
  const Axis axis = checked_axis(source.tensor, number);
  require_indexed_out(out, source_name, source.tensor, reduced_shape(reduction, axis));
  const auto present = [&](const Argument* argument) { return argument ? argument : &source; };
  const Call call(function, {&source, present(index), &offsets, present(weights), &out}, exec);

  const std::int64_t items = index != nullptr ? index->tensor.count() : axis.n;
  require(axis.n > 0 || items == 0 || out.tensor.count() == 0, GPUKERN_INDEX_ERROR,
          "cannot do a non-empty take from an empty axes.");
  Progress progress(function, exec);
  progress.expect(out.tensor.bytes());
  const cpu::StopScope stop(progress.stop_source(call.device_id));
  if (options.mode == GPUKERN_INDEX_RAISE) {
    const BagOffsets bags{&offsets, items};
    const bool indexes = index != nullptr && items > 0;
    const IndexedAxis indexed{indexes ? &index->tensor : nullptr, axis};
    options.mode = check_bounds(call, function, {&indexed, indexes ? 1U : 0U}, &bags);
  }
  if (out.tensor.count() == 0) return;
  if (call.is_offloaded()) {
    if (run_offloaded(reduction, options, axis, call, exec, progress)) return;
    if (call.explanation != nullptr) call.explanation->rule = GPUKERN_RULE_MEMORY;
  }
  run_apart(reduction, options, axis, call, source.tensor,
            [&](const GatherReduceArgs& args) { call.data_device.run(args, call.stream); });
  if (!out.tensor.device.cuda) progress.add(out.tensor.bytes());
}

}  // namespace gpukern

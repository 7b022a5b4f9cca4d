// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/index_checks.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "src/core/reduce.hpp"

namespace gpukern {

Axis checked_axis(const Tensor& source, std::int32_t axis) {
  if (axis == GPUKERN_AXIS_NONE) return {0, 0, source.ndim, source.count()};
  const int ndim = std::max(source.ndim, 1);
  require(axis >= -ndim && axis < ndim, GPUKERN_AXIS_ERROR, "axis ", axis,
          " is out of bounds for array of dimension ", ndim);
  const int number = axis < 0 ? axis + ndim : axis;
  if (source.ndim == 0) return {0, 0, 0, 1};
  return {number, number, number + 1, source.shape[number]};
}

Axis checked_along_axis(const char* array_name, const Tensor& array, const Argument& index,
                        std::int32_t axis) {
  const bool flattened = axis == GPUKERN_AXIS_NONE;
  require(flattened || array.ndim > 0, GPUKERN_AXIS_ERROR, "axis ", axis,
          " is out of bounds for array of dimension 0");
  const Axis checked = checked_axis(array, axis);
  const int ndim = flattened ? 1 : array.ndim;
  require(index.tensor.ndim == ndim, GPUKERN_VALUE_ERROR, index.name, " must have ", ndim,
          flattened ? " dimension, for the flattened " : " dimensions, as many as the ", array_name,
          ", got ", index.tensor.ndim);
  return checked;
}

Tensor indexed_shape(const char* function, const Tensor& array, const Tensor& index,
                     const Axis& axis) {
  const int ndim = array.ndim - (axis.last - axis.first) + index.ndim;
  require(ndim <= GPUKERN_MAX_NDIM, GPUKERN_VALUE_ERROR, function,
          ": the result must have at most ", GPUKERN_MAX_NDIM, " dimensions, got ", ndim);
  Tensor expected;
  auto append = [&expected](std::int64_t size) { expected.shape[expected.ndim++] = size; };
  for (int d = 0; d < axis.first; ++d) append(array.shape[d]);
  for (int d = 0; d < index.ndim; ++d) append(index.shape[d]);
  for (int d = axis.last; d < array.ndim; ++d) append(array.shape[d]);
  return expected;
}

Tensor along_axis_shape(const char* array_name, const Tensor& array, const Argument& index,
                        const Axis& axis) {
  const Tensor& at = index.tensor;
  Tensor expected;
  for (int d = 0; d < at.ndim; ++d) {
    std::int64_t size = at.shape[d];
    if (d != axis.number && size != array.shape[d]) {
      require(size == 1 || array.shape[d] == 1, GPUKERN_VALUE_ERROR, index.name,
              " must broadcast with the ", array_name, " outside axis ", axis.number,
              ", got shape ", at.shape_text(), " for a ", array_name, " of shape ",
              array.shape_text());
      if (size == 1) size = array.shape[d];
    }
    expected.shape[expected.ndim++] = size;
  }
  return expected;
}

void require_mode(const char* function, std::int32_t mode) {
  require(mode >= GPUKERN_INDEX_RAISE && mode <= GPUKERN_INDEX_FILL, GPUKERN_VALUE_ERROR, function,
          ": mode must be one of raise (0), wrap (1), clip (2), fill (3), got ", mode);
}

void require_further_indices(const char* function, const gpukern_tensor* const* further,
                             std::int32_t count) {
  require(count >= 0 && count < GPUKERN_MAX_NDIM, GPUKERN_VALUE_ERROR, function,
          ": further_index_count must be in [0, ", GPUKERN_MAX_NDIM, "), got ", count);
  require(count == 0 || further != nullptr, GPUKERN_VALUE_ERROR, function,
          ": further_indices must not be NULL, since further_index_count is ", count);
}

void require_one_index(const char* function, std::int32_t further_index_count) {
  require(further_index_count == 0, GPUKERN_VALUE_ERROR, function,
          ": further_index_count must be 0, got ", further_index_count);
}

const gpukern_gather_options& checked_options(const char* function,
                                              const gpukern_gather_options* options) {
  static constexpr gpukern_gather_options kDefaults = GPUKERN_GATHER_OPTIONS_INIT;
  if (options == nullptr) return kDefaults;
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_gather_options, further_indices) + sizeof(gpukern_tensor*);
  require_struct_size(ArgumentName{function, "options"}, options->struct_size, kFirstSize);
  require_mode(function, options->mode);
  require(options->path >= GPUKERN_GATHER_AUTO && options->path <= GPUKERN_GATHER_PARTITIONED,
          GPUKERN_VALUE_ERROR, function,
          ": path must be one of auto (0), direct (1), partitioned (2), got ", options->path);
  require_further_indices(function, options->further_indices, options->further_index_count);
  return *options;
}

void require_index_dtype(const Argument& index) {
  require(is_index_dtype(index.tensor.dtype), GPUKERN_TYPE_ERROR, index.name,
          " must be of an integer dtype, got ", dtype_name(index.tensor.dtype));
}

void require_reduced_dtype(const Argument& array, gpukern_reduce reduce, const char* add_name) {
  bool has = false;
  visit_reduced_dtype(array.tensor.dtype,
                      [&](auto tag) { has = has_reduction<typename decltype(tag)::type>(reduce); });
  if (has) return;
  const char* const names[] = {"none", add_name, "multiply", "min", "max", "mean"};
  fail(GPUKERN_TYPE_ERROR, array.name, " must be of a dtype that reduce '", names[reduce],
       "' takes, got ", dtype_name(array.tensor.dtype));
}

void require_indexed_out(const Argument& out, const char* array_name, const Tensor& array,
                         const Tensor& expected) {
  require(same_dtype(out.tensor.dtype, array.dtype), GPUKERN_TYPE_ERROR, out.name, " must have ",
          array_name, "'s dtype ", dtype_name(array.dtype), ", got ", dtype_name(out.tensor.dtype));
  require(same_shape(out.tensor, expected), GPUKERN_VALUE_ERROR, out.name, " must have shape ",
          expected.shape_text(), ", got ", out.tensor.shape_text());
  require_writable(out.tensor, out.name);
}

Tensor checked_fill_value(const char* function, const gpukern_tensor* raw, const Tensor& source,
                          const Axis& axis, const char* source_name) {
  const Argument fill(function, "fill_value", raw);
  require(!fill.tensor.device.cuda, GPUKERN_VALUE_ERROR, fill.name, " must be in host memory, got ",
          device_name(fill.tensor.device));
  require(same_dtype(fill.tensor.dtype, source.dtype), GPUKERN_TYPE_ERROR, fill.name, " must have ",
          source_name, "'s dtype ", dtype_name(source.dtype), ", got ",
          dtype_name(fill.tensor.dtype));
  const int missing = source.ndim - fill.tensor.ndim;
  bool fits = missing >= axis.last && fill.tensor.contiguous();
  for (int d = 0; fits && d < fill.tensor.ndim; ++d)
    fits = fill.tensor.shape[d] == source.shape[missing + d];
  if (!fits && fill.tensor.ndim > 0) {
    Tensor item;
    for (int d = axis.last; d < source.ndim; ++d) item.shape[item.ndim++] = source.shape[d];
    fail(GPUKERN_VALUE_ERROR, fill.name, " must be a number or have the shape of an item, ",
         item.shape_text(), ", or of the end of it",
         fill.tensor.contiguous() ? "" : ", and be C-contiguous", ", got shape ",
         fill.tensor.shape_text());
  }
  return fill.tensor;
}

IndexArgs index_args(const Tensor& index, std::int64_t n) {
  IndexArgs args;  // not as one initializer, for which GCC clears the whole struct first
  args.index = index.data;
  args.n = n;
  args.index_type = index_type(index);
  for (int d = 0; d < index.ndim; ++d) args.loop.push(index.shape[d], {index.stride[d]});
  args.loop.coalesce();
  return args;
}

namespace {

void require_good(const IndexCheck& check, const IndexedAxis& indexed) {
  if (!check.bad) return;
  fail(GPUKERN_INDEX_ERROR, "index ", value_text(*check.bad, index_type(*indexed.index).is_signed),
       " is out of bounds for axis ", indexed.axis.number, " with size ", indexed.axis.n);
}

void require_good(const IndexCheck& check, const BagOffsets& bags) {
  if (!check.bad) return;
  fail(GPUKERN_VALUE_ERROR, bags.offsets->name, " must be in [0, ", bags.count,
       "] and not fall, got offsets[", check.bad->position,
       "] = ", value_text(*check.bad, index_type(bags.offsets->tensor).is_signed));
}

IndexArgs offset_args(const BagOffsets& bags) {
  IndexArgs args = index_args(bags.offsets->tensor, bags.count);
  args.are_offsets = true;
  return args;
}

void record_bad_index(const Call& call, const char* function, const Tensor& index,
                      const Axis& axis) {
  gpukern_index_errors& errors = *call.index_errors;
  require(errors.device_id() == index.device, GPUKERN_VALUE_ERROR, function,
          ": exec's index_errors must be of ", device_name(index.device), ", got one of ",
          device_name(errors.device_id()));
  RecordIndexArgs args{.index = index_args(index, axis.n),
                       .origin = {function, 0, axis.number, index_type(index).is_signed, axis.n}};
  if (call.explanation != nullptr) return call.data_device.run(args, call.stream);
  args.origin.call = call.number_of_index_errors();
  errors.use(call.stream, [&](IndexRecord* record) {
    args.record = record;
    call.data_device.run(args, call.stream);
  });
}

}  // namespace

void require_in_bounds(const Call& call, std::span<const IndexedAxis> indexed,
                       const BagOffsets* offsets) {
  const auto check_one = [&](const IndexArgs& args) {
    IndexCheck check;
    call.data_device.check_indices({&args, 1}, {&check, 1}, call.stream);
    return check;
  };
  const Tensor& first = offsets != nullptr ? offsets->offsets->tensor : *indexed.front().index;
  if (!first.device.cuda) {  // there is no wait to share
    if (offsets != nullptr) require_good(check_one(offset_args(*offsets)), *offsets);
    for (const IndexedAxis& each : indexed)
      require_good(check_one(index_args(*each.index, each.axis.n)), each);
    return;
  }
  std::vector<IndexArgs> args;
  args.reserve(indexed.size() + 1);
  for (const auto& [index, axis] : indexed) args.push_back(index_args(*index, axis.n));
  if (offsets != nullptr) args.push_back(offset_args(*offsets));
  std::vector<IndexCheck> checks(args.size());
  call.data_device.check_indices(args, checks, call.stream);
  if (offsets != nullptr) require_good(checks.back(), *offsets);
  for (std::size_t k = 0; k < indexed.size(); ++k) require_good(checks[k], indexed[k]);
}

void require_number_in_bounds(const Call& call, const IndexedAxis& indexed) {
  if (call.explanation != nullptr) return;
  const IndexType type = index_type(*indexed.index);
  const std::int64_t value = load_index(indexed.index->data, type);
  if (in_bounds(value, type.is_signed, indexed.axis.n)) return;
  require_good({.bad = BadIndex{value, 0}}, indexed);
}

bool require_in_bounds_and_order(const Call& call, const IndexedAxis& indexed) {
  IndexArgs args = index_args(*indexed.index, indexed.axis.n);
  args.check_order = true;
  IndexCheck check;
  call.data_device.check_indices({&args, 1}, {&check, 1}, call.stream);
  require_good(check, indexed);
  return check.sorted;
}

std::int32_t check_bounds(const Call& call, const char* function,
                          std::span<const IndexedAxis> indexed, const BagOffsets* offsets) {
  const bool records = call.index_errors != nullptr && !indexed.empty();
  if (!records || offsets != nullptr)
    require_in_bounds(call, records ? std::span<const IndexedAxis>() : indexed, offsets);
  if (!records) return GPUKERN_INDEX_RAISE;
  for (const auto& [index, axis] : indexed) record_bad_index(call, function, *index, axis);
  return GPUKERN_INDEX_FILL;
}

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The checks of operations with an index: axis, shapes, options, dtype and bounds of the index,
// fill value, out.
#pragma once

#include <cstdint>
#include <span>

#include "src/ops/gather_args.hpp"
#include "src/runtime/call.hpp"

namespace gpukern {

/// Checks an axis of the source, which may be GPUKERN_AXIS_NONE.
Axis checked_axis(const Tensor& source, std::int32_t axis);

/// As checked_axis(), for an index that must have as many dimensions as the array, or one for the
/// flattened array.
Axis checked_along_axis(const char* array_name, const Tensor& array, const Argument& index,
                        std::int32_t axis);

/// The shape of array[:axis] + index + array[axis+1:].
Tensor indexed_shape(const char* function, const Tensor& array, const Tensor& index,
                     const Axis& axis);

/// Array and index broadcast outside the axis; along it, the length is that of the index.
Tensor along_axis_shape(const char* array_name, const Tensor& array, const Argument& index,
                        const Axis& axis);

/// Checks a gpukern_index_mode.
void require_mode(const char* function, std::int32_t mode);

/// Checks the number of index tensors beside the first one.
void require_further_indices(const char* function, const gpukern_tensor* const* further,
                             std::int32_t count);

/// For an operation that indexes one axis.
void require_one_index(const char* function, std::int32_t further_index_count);

/// Checks the options; NULL means the defaults.
const gpukern_gather_options& checked_options(const char* function,
                                              const gpukern_gather_options* options);

/// Requires an integer dtype.
void require_index_dtype(const Argument& index);

/// Requires a dtype that has the reduction, of which messages call GPUKERN_REDUCE_ADD `add_name`.
void require_reduced_dtype(const Argument& array, gpukern_reduce reduce, const char* add_name);

/// Requires the dtype of the array that `array_name` names in messages, the shape of `expected`,
/// and elements that do not overlap.
void require_indexed_out(const Argument& out, const char* array_name, const Tensor& array,
                         const Tensor& expected);

/// The fill value: a host tensor whose shape is the end of an item's shape.
Tensor checked_fill_value(const char* function, const gpukern_tensor* raw, const Tensor& source,
                          const Axis& axis, const char* source_name = "the source");

/// The indices of an axis of length n, in C order.
IndexArgs index_args(const Tensor& index, std::int64_t n);

/// Indices, and the axis that they must be in bounds of.
struct IndexedAxis {
  const Tensor* index;
  Axis axis;
};

/// Offsets of bags of `count` items.
struct BagOffsets {
  const Argument* offsets;
  std::int64_t count;
};

/// Requires that all indices are in [-n, n) for an axis of length n, in the order given, and waits
/// once for the stream. If `offsets` are given, requires first that they are in [0, count] and do
/// not fall.
void require_in_bounds(const Call& call, std::span<const IndexedAxis> indexed,
                       const BagOffsets* offsets = nullptr);

/// As require_in_bounds(), for a number in host memory, which a dry run does not read.
void require_number_in_bounds(const Call& call, const IndexedAxis& indexed);

/// As require_in_bounds(). Returns whether the indices are known to be sorted, see IndexCheck.
bool require_in_bounds_and_order(const Call& call, const IndexedAxis& indexed);

/// What mode "raise" does first: require_in_bounds(). With call.index_errors, it has the device
/// record the first bad index instead, and does not wait for it. Returns the mode in which the call
/// goes on.
std::int32_t check_bounds(const Call& call, const char* function,
                          std::span<const IndexedAxis> indexed,
                          const BagOffsets* offsets = nullptr);

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/raveled_index.hpp"

#include <algorithm>
#include <sstream>

#include "src/ops/index_checks.hpp"

namespace gpukern {
namespace {

Axis axes_from(const char* function, const Tensor& array, std::int32_t axis, std::int32_t count) {
  require(axis != GPUKERN_AXIS_NONE, GPUKERN_VALUE_ERROR, function,
          ": axis must not be none with several index arrays");
  Axis axes = checked_axis(array, axis);
  axes.last = axes.first + count;
  require(axes.last <= array.ndim, GPUKERN_INDEX_ERROR, "too many indices for array: array is ",
          array.ndim, "-dimensional, but ", axes.last, " were indexed");
  axes.n = 1;
  bool fits = true;
  bool empty = false;
  for (int d = axes.first; d < axes.last; ++d) {
    fits = !__builtin_mul_overflow(axes.n, array.shape[d], &axes.n) && fits;
    empty = empty || array.shape[d] == 0;
  }
  if (empty) axes.n = 0;
  require(fits || empty, GPUKERN_VALUE_ERROR, function,
          ": the indexed axes must have fewer than 2**63 positions");
  return axes;
}

}  // namespace

RaveledIndex::RaveledIndex(const char* function, const Tensor& array, const Argument& first,
                           const gpukern_tensor* const* further, std::int32_t count,
                           std::int32_t axis)
    : function_(function),
      array_(array),
      axes_(axes_from(function, array, axis, count + 1)),
      index_({function, "index"}, Tensor()) {
  indices_.reserve(static_cast<std::size_t>(count) + 1);
  indices_.push_back(first);
  for (std::int32_t k = 0; k < count; ++k) {
    indices_.emplace_back(ArgumentName{function, "index", k + 1}, further[k]);
    require_index_dtype(indices_.back());
  }
  index_.tensor = broadcast_shape();
}

Tensor RaveledIndex::broadcast_shape() const {
  Tensor shape;
  shape.dtype = {GPUKERN_INT, 64, 1};
  shape.item = sizeof(std::int64_t);
  shape.device = indices_.front().tensor.device;
  for (const Argument& index : indices_) shape.ndim = std::max(shape.ndim, index.tensor.ndim);
  std::fill_n(shape.shape.begin(), shape.ndim, 1);
  std::fill_n(shape.stride.begin(), shape.ndim, 0);
  bool fits = true;
  for (const Argument& index : indices_)
    for (int d = 0; d < index.tensor.ndim; ++d) {
      std::int64_t& size = shape.shape[shape.ndim - index.tensor.ndim + d];
      fits = fits && (size == 1 || index.tensor.shape[d] == 1 || size == index.tensor.shape[d]);
      if (size == 1) size = index.tensor.shape[d];
    }
  if (!fits) {
    std::ostringstream shapes;
    shapes.exceptions(std::ios_base::badbit);
    for (const Argument& index : indices_) shapes << ' ' << index.tensor.shape_text();
    fail(GPUKERN_INDEX_ERROR, function_,
         ": shape mismatch: index arrays could not be broadcast together with shapes",
         shapes.str());
  }
  return broadcast_to(shape, shape, index_.name);
}

Axis RaveledIndex::axis_of(std::size_t k) const {
  const int d = axes_.first + static_cast<int>(k);
  return {d, d, d + 1, array_.shape[d]};
}

const Call& RaveledIndex::make_call(const gpukern_exec* exec) {
  if (call_) return *call_;
  std::vector<const Argument*> arguments;
  arguments.reserve(indices_.size());
  for (const Argument& index : indices_) arguments.push_back(&index);
  return call_.emplace(function_, arguments, exec);
}

const IndexTuple& RaveledIndex::tuple(const gpukern_exec* exec) {
  make_call(exec);
  tuple_.base = indices_.front().tensor.data;
  index_.tensor = contiguous_at(indices_.front().tensor.data, index_.tensor.device, index_.tensor);
  tuple_.axes.reserve(indices_.size());
  for (std::size_t k = 0; k < indices_.size(); ++k) {
    const Argument& index = indices_[k];
    const Axis axis = axis_of(k);
    tuple_.axes.push_back(
        {index_args(broadcast_to(index.tensor, index_.tensor, index.name), axis.n),
         array_.stride[axis.first]});
  }
  return tuple_;
}

std::int32_t RaveledIndex::check_bounds(const gpukern_exec* exec) {
  const Call& call = make_call(exec);
  std::vector<IndexedAxis> indexed;
  indexed.reserve(indices_.size());
  // As NumPy: of indices that broadcast to no position, numbers alone are checked.
  const bool all = index_.tensor.count() > 0;
  for (std::size_t k = 0; k < indices_.size(); ++k)
    if (all || indices_[k].tensor.ndim == 0) indexed.push_back({&indices_[k].tensor, axis_of(k)});
  if (indexed.empty()) return GPUKERN_INDEX_RAISE;
  return gpukern::check_bounds(call, function_, indexed);
}

bool RaveledIndex::overlaps(const Tensor& out) const {
  return std::ranges::any_of(indices_,
                             [&](const Argument& index) { return may_overlap(out, index.tensor); });
}

std::int32_t RaveledIndex::ravel(std::int32_t mode, const gpukern_exec* exec) {
  const Call& call = make_call(exec);
  const std::int32_t after = mode == GPUKERN_INDEX_FILL ? GPUKERN_INDEX_FILL : GPUKERN_INDEX_CLIP;
  if (index_.tensor.count() == 0 || axes_.n == 0) return after;  // there is no position
  memory_.emplace(call.data_device, index_.tensor.bytes(), call.stream);
  index_.tensor = contiguous_at(memory_->data(), index_.tensor.device, index_.tensor);
  std::vector<IndexArgs> indices;
  indices.reserve(indices_.size());
  for (std::size_t k = 0; k < indices_.size(); ++k) {
    const Argument& index = indices_[k];
    indices.push_back(
        index_args(broadcast_to(index.tensor, index_.tensor, index.name), axis_of(k).n));
  }
  call.data_device.run(RavelArgs{.indices = indices,
                                 .mode = static_cast<gpukern_index_mode>(mode),
                                 .positions = reinterpret_cast<std::int64_t*>(index_.tensor.data)},
                       call.stream);
  return after;
}

}  // namespace gpukern

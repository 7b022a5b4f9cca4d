// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file operations.hpp
/// @brief The operations on indices and masks for C++20; gpukern.hpp includes it.
#ifndef GPUKERN_OPERATIONS_HPP
#define GPUKERN_OPERATIONS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "gpukern/operations.h"
#include "gpukern/runtime.hpp"
#include "gpukern/tensor.hpp"

namespace gpukern::inline abi1 {

/// What an indexing operation does with an index outside [0, n).
enum class Mode {
  raise = GPUKERN_INDEX_RAISE,  ///< [-n, 0) counts from the end; anything else is an IndexError
  wrap = GPUKERN_INDEX_WRAP,    ///< modulo n
  clip = GPUKERN_INDEX_CLIP,    ///< to the nearest of 0 and n - 1
  fill = GPUKERN_INDEX_FILL     ///< [-n, 0) counts from the end; anything else gives fill_value
};

/// How an indexing operation works on a GPU; see gpukern_gather_path. All give the same result.
enum class GatherPath {
  automatic = GPUKERN_GATHER_AUTO,  ///< $GPUKERN_GATHER, or a choice by sizes and indices
  direct = GPUKERN_GATHER_DIRECT,
  partitioned = GPUKERN_GATHER_PARTITIONED
};

/// The axis of the source flattened in C order.
inline constexpr std::int32_t kFlattened = GPUKERN_AXIS_NONE;

template <Element T>
struct GatherOptions {
  std::int32_t axis = 0;
  Mode mode = Mode::raise;
  T fill_value{};
  ExecOptions exec{};
  GatherPath path = GatherPath::automatic;
  bool out_may_change =
      false;  ///< even if Mode::raise throws; avoids a separate check of the indices
};

namespace detail {
/// The options of an indexing operation; `fill_value` must outlive them.
template <class Options>
gpukern_gather_options c_gather_options(const Options& options, const gpukern_tensor& fill_value) {
  gpukern_gather_options c_options = GPUKERN_GATHER_OPTIONS_INIT;
  c_options.mode = static_cast<std::int32_t>(options.mode);
  c_options.path = static_cast<std::int32_t>(options.path);
  c_options.fill_value = &fill_value;
  c_options.out_may_change = options.out_may_change;
  return c_options;
}

/// Calls an indexing operation of the C ABI; `further` are the indices of further axes.
template <class Operation, class Source, class Indices, class Out, class Options, class... Further>
void read_by_index(Operation operation, const Source& source, const Indices& index, Out& out,
                   const Options& options, const Further*... further) {
  const TensorRef fill_value(&options.fill_value, {});
  const gpukern_tensor c_fill_value = fill_value.c_tensor();
  const gpukern_exec exec = c_exec(options.exec);
  gpukern_gather_options c_options = detail::c_gather_options(options, c_fill_value);
  const gpukern_tensor* const tensors[] = {further..., nullptr};
  c_options.further_index_count = sizeof...(further);
  c_options.further_indices = tensors;
  gpukern::check(operation(detail::address(TensorRef(source).c_tensor()),
                           detail::address(TensorRef(index).c_tensor()), options.axis,
                           detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}
}  // namespace detail

/// Takes items of the source along an axis: `out[a, i, b] = source[a, index[i], b]`.
///
/// The shape of out is source.shape[:axis] + index.shape + source.shape[axis+1:].
/// Mode::raise waits for the stream and throws IndexError, leaving out unchanged unless
/// GatherOptions::out_may_change; the other modes only enqueue. See gpukern_gather().
template <Output Out, InputOf<element_t<Out>> Source, class Indices>
  requires IndexLike<Indices>
void gather(const Source& source, const Indices& index, Out&& out,
            const GatherOptions<element_t<Out>>& options = {}) {
  detail::read_by_index(gpukern_gather, source, index, out, options);
}

/// As above, by indices of several consecutive axes, such as `std::tie(i, j)`: they broadcast
/// against each other, and their common shape replaces these axes.
template <Output Out, InputOf<element_t<Out>> Source, class First, class... Further>
  requires IndexLike<First> && (IndexLike<Further> && ...)
void gather(const Source& source, const std::tuple<First, Further...>& indices, Out&& out,
            const GatherOptions<element_t<Out>>& options = {}) {
  std::apply(
      [&](const auto& first, const auto&... further) {
        detail::read_by_index(gpukern_gather, source, first, out, options,
                              detail::address(TensorRef(further).c_tensor())...);
      },
      indices);
}

template <Element T>
struct TakeAlongAxisOptions {
  std::int32_t axis = -1;
  Mode mode = Mode::raise;
  T fill_value{};
  ExecOptions exec{};
  GatherPath path = GatherPath::automatic;
  bool out_may_change =
      false;  ///< even if Mode::raise throws; avoids a separate check of the indices
};

/// Takes an element for each index along an axis: `out[a, i, b] = source[a, index[a, i, b], b]`.
///
/// Source and index have the same number of dimensions and broadcast outside the axis. Errors and
/// streams are those of gather(). See gpukern_take_along_axis().
template <Output Out, InputOf<element_t<Out>> Source, class Indices>
  requires IndexLike<Indices>
void take_along_axis(const Source& source, const Indices& index, Out&& out,
                     const TakeAlongAxisOptions<element_t<Out>>& options = {}) {
  detail::read_by_index(gpukern_take_along_axis, source, index, out, options);
}

/// How a writing operation combines the values of one element; see gpukern_reduce.
enum class Reduction {
  none = GPUKERN_REDUCE_NONE,  ///< the last value in C order of the index replaces the element
  add = GPUKERN_REDUCE_ADD,
  multiply = GPUKERN_REDUCE_MULTIPLY,
  min = GPUKERN_REDUCE_MIN,
  max = GPUKERN_REDUCE_MAX,
  mean = GPUKERN_REDUCE_MEAN
};

/// The order in which a writing operation combines floating-point values; see gpukern_order.
enum class Order {
  fixed = GPUKERN_ORDER_FIXED,  ///< the same bits on every device and in every run
  any = GPUKERN_ORDER_ANY
};

struct ScatterOptions {
  std::int32_t axis = 0;
  Mode mode = Mode::raise;  ///< Mode::fill skips values with an index out of bounds
  Reduction reduce = Reduction::none;
  Order order = Order::fixed;
  bool unique = false;  ///< no two indices refer to the same element
  ExecOptions exec{};
};

namespace detail {
/// Calls a writing operation of the C ABI; `out` is NULL for the target itself, `further` are the
/// indices of further axes.
template <class Operation, class Target, class Indices, class Values, class Options,
          class... Further>
void write_by_index(Operation operation, const Target& target, const Indices& index,
                    const Values& values, const gpukern_tensor* out, const Options& options,
                    const Further*... further) {
  gpukern_scatter_options c_options = GPUKERN_SCATTER_OPTIONS_INIT;
  c_options.mode = static_cast<std::int32_t>(options.mode);
  c_options.reduce = static_cast<std::int32_t>(options.reduce);
  c_options.order = static_cast<std::int32_t>(options.order);
  c_options.unique = options.unique;
  const gpukern_tensor* const tensors[] = {further..., nullptr};
  c_options.further_index_count = sizeof...(further);
  c_options.further_indices = tensors;
  const gpukern_exec exec = c_exec(options.exec);
  gpukern::check(operation(
      detail::address(TensorRef(target).c_tensor()), detail::address(TensorRef(index).c_tensor()),
      detail::address(TensorRef(values).c_tensor()), options.axis, out, &c_options, &exec));
}
}  // namespace detail

/// Writes values to the elements of a target along an axis: `target[a, index[i], b] = values[a, i,
/// b]`, or combines them with these elements.
///
/// The shape of values broadcasts to target.shape[:axis] + index.shape + target.shape[axis+1:].
/// Mode::raise waits for the stream and throws IndexError, leaving the target unchanged; the other
/// modes only enqueue. See gpukern_scatter().
template <Output Target, class Indices, InputOf<element_t<Target>> Values>
  requires IndexLike<Indices>
void scatter(Target&& target, const Indices& index, const Values& values,
             const ScatterOptions& options = {}) {
  detail::write_by_index(gpukern_scatter, target, index, values, nullptr, options);
}

/// As above, to a copy of the target in `out`, of the same shape; the target is unchanged.
template <Output Out, InputOf<element_t<Out>> Target, class Indices, InputOf<element_t<Out>> Values>
  requires IndexLike<Indices>
void scatter(const Target& target, const Indices& index, const Values& values, Out&& out,
             const ScatterOptions& options = {}) {
  detail::write_by_index(gpukern_scatter, target, index, values,
                         detail::address(TensorRef(out).c_tensor()), options);
}

/// As scatter(), by indices of several consecutive axes; see gather().
template <Output Target, class First, class... Further, InputOf<element_t<Target>> Values>
  requires IndexLike<First> && (IndexLike<Further> && ...)
void scatter(Target&& target, const std::tuple<First, Further...>& indices, const Values& values,
             const ScatterOptions& options = {}) {
  std::apply(
      [&](const auto& first, const auto&... further) {
        detail::write_by_index(gpukern_scatter, target, first, values, nullptr, options,
                               detail::address(TensorRef(further).c_tensor())...);
      },
      indices);
}

/// As above, to a copy of the target in `out`, of the same shape; the target is unchanged.
template <Output Out, InputOf<element_t<Out>> Target, class First, class... Further,
          InputOf<element_t<Out>> Values>
  requires IndexLike<First> && (IndexLike<Further> && ...)
void scatter(const Target& target, const std::tuple<First, Further...>& indices,
             const Values& values, Out&& out, const ScatterOptions& options = {}) {
  std::apply(
      [&](const auto& first, const auto&... further) {
        detail::write_by_index(gpukern_scatter, target, first, values,
                               detail::address(TensorRef(out).c_tensor()), options,
                               detail::address(TensorRef(further).c_tensor())...);
      },
      indices);
}

struct PutAlongAxisOptions {
  std::int32_t axis = -1;
  Mode mode = Mode::raise;  ///< Mode::fill skips values with an index out of bounds
  Reduction reduce = Reduction::none;
  Order order = Order::fixed;
  bool unique = false;  ///< no two indices refer to the same element
  ExecOptions exec{};
};

/// Writes a value for each index along an axis: `target[a, index[a, i, b], b] = values[a, i, b]`,
/// or combines it with this element.
///
/// Target and index have the same number of dimensions and broadcast outside the axis. Errors and
/// streams are those of scatter(). See gpukern_put_along_axis().
template <Output Target, class Indices, InputOf<element_t<Target>> Values>
  requires IndexLike<Indices>
void put_along_axis(Target&& target, const Indices& index, const Values& values,
                    const PutAlongAxisOptions& options = {}) {
  detail::write_by_index(gpukern_put_along_axis, target, index, values, nullptr, options);
}

/// As above, to a copy of the target in `out`, of the same shape; the target is unchanged.
template <Output Out, InputOf<element_t<Out>> Target, class Indices, InputOf<element_t<Out>> Values>
  requires IndexLike<Indices>
void put_along_axis(const Target& target, const Indices& index, const Values& values, Out&& out,
                    const PutAlongAxisOptions& options = {}) {
  detail::write_by_index(gpukern_put_along_axis, target, index, values,
                         detail::address(TensorRef(out).c_tensor()), options);
}

struct GatherReduceOptions {
  std::int32_t axis = 0;
  Mode mode = Mode::raise;            ///< Mode::fill leaves items out of bounds out of their bag
  Reduction reduce = Reduction::add;  ///< add, min, max or mean
  ExecOptions exec{};
};

namespace detail {
inline gpukern_gather_reduce_options c_options(const GatherReduceOptions& options) noexcept {
  gpukern_gather_reduce_options c_options = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  c_options.mode = static_cast<std::int32_t>(options.mode);
  c_options.reduce = static_cast<std::int32_t>(options.reduce);
  return c_options;
}

/// `weights` is NULL for none.
template <class Source, class Indices, class Offsets, class Out>
void reduce_by_index(const Source& source, const Indices& index, const Offsets& offsets,
                     const gpukern_tensor* weights, Out& out, const GatherReduceOptions& options) {
  const gpukern_gather_reduce_options c_options = detail::c_options(options);
  const gpukern_exec exec = c_exec(options.exec);
  gpukern::check(gpukern_gather_reduce(
      detail::address(TensorRef(source).c_tensor()), detail::address(TensorRef(index).c_tensor()),
      detail::address(TensorRef(offsets).c_tensor()), weights, options.axis,
      detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}
}  // namespace detail

/// Reduces bags of items along an axis: `out[a, b, c]` is the reduction of `source[a, index[i], c]`
/// for all i in [offsets[b], offsets[b + 1]).
///
/// The shape of out is source.shape[:axis] + (len(offsets) - 1,) + source.shape[axis+1:].
/// Mode::raise waits for the stream and throws ValueError for bad offsets and IndexError for a bad
/// index, leaving out unchanged; the other modes only enqueue. See gpukern_gather_reduce().
template <Output Out, InputOf<element_t<Out>> Source, class Indices, class Offsets>
  requires IndexLike<Indices> && IndexLike<Offsets>
void gather_reduce(const Source& source, const Indices& index, const Offsets& offsets, Out&& out,
                   const GatherReduceOptions& options = {}) {
  detail::reduce_by_index(source, index, offsets, nullptr, out, options);
}

/// As above, with a weight for each index, by which its item is multiplied; for Reduction::add.
template <Output Out, InputOf<element_t<Out>> Source, class Indices, class Offsets,
          InputOf<element_t<Out>> Weights>
  requires IndexLike<Indices> && IndexLike<Offsets>
void gather_reduce(const Source& source, const Indices& index, const Offsets& offsets,
                   const Weights& weights, Out&& out, const GatherReduceOptions& options = {}) {
  detail::reduce_by_index(source, index, offsets, detail::address(TensorRef(weights).c_tensor()),
                          out, options);
}

/// Reduces segments along an axis: `out[a, s, c]` is the reduction of `x[a, i, c]` for all i in
/// [offsets[s], offsets[s + 1]). The mode is Mode::raise or Mode::clip. See
/// gpukern_segment_reduce().
template <Output Out, InputOf<element_t<Out>> X, class Offsets>
  requires IndexLike<Offsets>
void segment_reduce(const X& x, const Offsets& offsets, Out&& out,
                    const GatherReduceOptions& options = {}) {
  const gpukern_gather_reduce_options c_options = detail::c_options(options);
  const gpukern_exec exec = detail::c_exec(options.exec);
  gpukern::check(gpukern_segment_reduce(
      detail::address(TensorRef(x).c_tensor()), detail::address(TensorRef(offsets).c_tensor()),
      options.axis, detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

/// Counts the nonzero elements of a mask; waits for the stream. See gpukern_count_nonzero().
template <class Mask>
  requires TensorLike<const Mask&>
std::int64_t count_nonzero(const Mask& mask, const ExecOptions& options = {}) {
  const gpukern_exec exec = detail::c_exec(options);
  std::int64_t count = 0;
  gpukern::check(gpukern_count_nonzero(detail::address(TensorRef(mask).c_tensor()), &count, &exec));
  return count;
}

struct NonzeroOptions {
  std::int64_t fill_value = 0;  ///< of what out holds beyond the nonzero elements
  ExecOptions exec{};
};

/// Writes the coordinates of the nonzero elements in C order: `out[d, k]` is the coordinate along
/// dimension d of the k-th one. The shape of out is (mask.ndim, size). Enqueues; see
/// gpukern_nonzero().
template <class Mask, Output Out>
  requires TensorLike<const Mask&> && std::same_as<element_t<Out>, std::int64_t>
void nonzero(const Mask& mask, Out&& out, const NonzeroOptions& options = {}) {
  const TensorRef fill_value(&options.fill_value, {});
  const gpukern_tensor c_fill_value = fill_value.c_tensor();
  gpukern_select_options c_options = GPUKERN_SELECT_OPTIONS_INIT;
  c_options.fill_value = &c_fill_value;
  const gpukern_exec exec = detail::c_exec(options.exec);
  gpukern::check(gpukern_nonzero(detail::address(TensorRef(mask).c_tensor()),
                                 detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

template <Element T>
struct CompressOptions {
  std::int32_t axis = kFlattened;
  T fill_value{};  ///< of what out holds beyond the selected items
  ExecOptions exec{};
};

/// Takes the items of x along an axis for which a mask is not zero.
///
/// The mask has one dimension, or for the flattened x its shape; the shape of out is
/// x.shape[:axis] + (size,) + x.shape[axis+1:]. Enqueues; see gpukern_compress().
template <class Mask, Output Out, InputOf<element_t<Out>> X>
  requires TensorLike<const Mask&>
void compress(const Mask& mask, const X& x, Out&& out,
              const CompressOptions<element_t<Out>>& options = {}) {
  const TensorRef fill_value(&options.fill_value, {});
  const gpukern_tensor c_fill_value = fill_value.c_tensor();
  gpukern_select_options c_options = GPUKERN_SELECT_OPTIONS_INIT;
  c_options.fill_value = &c_fill_value;
  const gpukern_exec exec = detail::c_exec(options.exec);
  gpukern::check(gpukern_compress(detail::address(TensorRef(mask).c_tensor()),
                                  detail::address(TensorRef(x).c_tensor()), options.axis,
                                  detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

}  // namespace gpukern::inline abi1

#endif  // GPUKERN_OPERATIONS_HPP

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// scatter and put_along_axis by their definition: for each element of the target the sequence of
// the element and its updates, on whole images of all memories of the call.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "gather_oracle.hpp"
#include "saxpy_oracle.hpp"

namespace gpukern_test {

inline constexpr gpukern_reduce kReductions[] = {GPUKERN_REDUCE_NONE,     GPUKERN_REDUCE_ADD,
                                                 GPUKERN_REDUCE_MULTIPLY, GPUKERN_REDUCE_MIN,
                                                 GPUKERN_REDUCE_MAX,      GPUKERN_REDUCE_MEAN};
inline constexpr gpukern_dtype kReducedDtypes[] = {
    {GPUKERN_FLOAT, 16, 1},   {GPUKERN_BFLOAT, 16, 1},  {GPUKERN_FLOAT, 32, 1},
    {GPUKERN_FLOAT, 64, 1},   {GPUKERN_INT, 8, 1},      {GPUKERN_INT, 16, 1},
    {GPUKERN_INT, 32, 1},     {GPUKERN_INT, 64, 1},     {GPUKERN_UINT, 8, 1},
    {GPUKERN_UINT, 16, 1},    {GPUKERN_UINT, 32, 1},    {GPUKERN_UINT, 64, 1},
    {GPUKERN_COMPLEX, 64, 1}, {GPUKERN_COMPLEX, 128, 1}};
inline constexpr gpukern_dtype kFloat32{GPUKERN_FLOAT, 32, 1};
inline constexpr gpukern_dtype kFloat64{GPUKERN_FLOAT, 64, 1};

inline bool has_reduction(gpukern_dtype dtype, gpukern_reduce reduce) {
  if (reduce == GPUKERN_REDUCE_NONE || reduce == GPUKERN_REDUCE_ADD) return true;
  const bool integer = dtype.code == GPUKERN_INT || dtype.code == GPUKERN_UINT;
  if (reduce == GPUKERN_REDUCE_MEAN) return !integer;
  return dtype.code != GPUKERN_COMPLEX;
}

inline gpukern_scatter_options scatter_options(gpukern_index_mode mode,
                                               gpukern_reduce reduce = GPUKERN_REDUCE_NONE) {
  gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
  options.mode = mode;
  options.reduce = reduce;
  return options;
}

// ---- one sequence ----

template <class A>
A combined(gpukern_reduce reduce, A a, A b) {
  if (reduce == GPUKERN_REDUCE_MIN || reduce == GPUKERN_REDUCE_MAX) {
    if constexpr (std::is_floating_point_v<A>) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<A>::quiet_NaN();
      if (a == b) return (std::signbit(a) == (reduce == GPUKERN_REDUCE_MIN)) ? a : b;
    }
    return (a < b) == (reduce == GPUKERN_REDUCE_MIN) ? a : b;
  }
  if constexpr (std::is_integral_v<A>) {  // wraps around
    using Unsigned = std::make_unsigned_t<A>;
    const auto x = static_cast<std::uint64_t>(static_cast<Unsigned>(a));
    const auto y = static_cast<std::uint64_t>(static_cast<Unsigned>(b));
    return static_cast<A>(reduce == GPUKERN_REDUCE_MULTIPLY ? x * y : x + y);
  } else {
    return reduce == GPUKERN_REDUCE_MULTIPLY ? a * b : a + b;
  }
}

/// Blocks of 256 from left to right, then adjacent ones pairwise, level by level.
template <class A>
A reduced(gpukern_reduce reduce, const std::vector<A>& sequence) {
  std::vector<A> level;
  for (std::size_t begin = 0; begin < sequence.size(); begin += 256) {
    A block = sequence[begin];
    for (std::size_t k = begin + 1; k < std::min(begin + 256, sequence.size()); ++k)
      block = combined(reduce, block, sequence[k]);
    level.push_back(block);
  }
  while (level.size() > 1) {
    std::vector<A> above;
    for (std::size_t k = 0; k + 1 < level.size(); k += 2)
      above.push_back(combined(reduce, level[k], level[k + 1]));
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = std::move(above);
  }
  if constexpr (std::is_floating_point_v<A>) {
    if (reduce == GPUKERN_REDUCE_MEAN) level[0] /= static_cast<A>(sequence.size());
    if (std::isnan(level[0])) return std::numeric_limits<A>::quiet_NaN();
  }
  return level[0];
}

/// Stores the reduction of numbers at these addresses to `to`.
template <class T>
void reduce_numbers(gpukern_reduce reduce, const std::vector<const std::byte*>& sequence,
                    std::byte* to) {
  const auto numbers = [&](auto convert) {
    std::vector<decltype(convert(T{}))> found;
    for (const std::byte* from : sequence) {
      T value;
      std::memcpy(&value, from, sizeof value);
      found.push_back(convert(value));
    }
    return reduced(reduce, found);
  };
  T result;
  if constexpr (std::is_arithmetic_v<T>)
    result = numbers([](T value) { return value; });
  else
    result = T::encode(numbers([](T value) { return value.decode(); }));
  std::memcpy(to, &result, sizeof result);
}

using ReduceNumbers = void (*)(gpukern_reduce, const std::vector<const std::byte*>&, std::byte*);

/// The function for a real dtype, or for the parts of a complex one.
inline ReduceNumbers reduce_function(gpukern_dtype dtype) {
  const int bits = dtype.code == GPUKERN_COMPLEX ? dtype.bits / 2 : dtype.bits;
  const bool is_signed = dtype.code == GPUKERN_INT;
  if (dtype.code == GPUKERN_BFLOAT) return reduce_numbers<BFloat16>;
  if (dtype.code == GPUKERN_FLOAT || dtype.code == GPUKERN_COMPLEX)
    return bits == 16   ? reduce_numbers<Half>
           : bits == 32 ? reduce_numbers<float>
                        : reduce_numbers<double>;
  if (bits == 8) return is_signed ? reduce_numbers<std::int8_t> : reduce_numbers<std::uint8_t>;
  if (bits == 16) return is_signed ? reduce_numbers<std::int16_t> : reduce_numbers<std::uint16_t>;
  if (bits == 32) return is_signed ? reduce_numbers<std::int32_t> : reduce_numbers<std::uint32_t>;
  return is_signed ? reduce_numbers<std::int64_t> : reduce_numbers<std::uint64_t>;
}

// ---- a call ----

struct Scatter {
  bool along_axis;  ///< put_along_axis
  const View& target;
  const View& index;
  const View& values;
  std::int32_t axis;
  gpukern_scatter_options options;
  const View* out = nullptr;

  [[nodiscard]] const View& written() const { return out != nullptr ? *out : target; }
  [[nodiscard]] gpukern_status run(const gpukern_exec& exec) const {
    const gpukern_tensor to = target.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor from = values.tensor();
    const gpukern_tensor result = written().tensor();
    const auto operation = along_axis ? gpukern_put_along_axis : gpukern_scatter;
    return operation(&to, &at, &from, axis, out != nullptr ? &result : nullptr, &options, &exec);
  }
};

/// The shape of the updates: the axis replaced by the index, or broadcast outside the axis.
inline Shape update_shape(bool along_axis, const Shape& target, const Shape& index,
                          std::int32_t axis) {
  if (!along_axis) return gather_shape(target, index, axis);
  Shape shape = index;
  const AxisSplit split = split_at(target, axis);
  for (std::size_t d = 0; axis != GPUKERN_AXIS_NONE && d < shape.size(); ++d)
    if (static_cast<std::int64_t>(d) != split.axis && shape[d] == 1) shape[d] = target[d];
  return shape;
}

/// A view with the shape that it broadcasts to.
inline View broadcast(const View& view, const Shape& shape) {
  View wide{view.memory, view.dtype, shape, Shape(shape.size(), 0), view.offset};
  const std::size_t missing = shape.size() - view.shape.size();
  for (std::size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] != 1) wide.strides[missing + d] = view.strides[d];
  return wide;
}

/// A view whose offsets are the numbers of the elements in C order.
inline View contiguous_numbers(const Shape& shape) {
  View view{nullptr, bytes_dtype(1), shape, Shape(shape.size(), 1), 0};
  for (std::size_t d = shape.size(); d-- > 1;) view.strides[d - 1] = view.strides[d] * shape[d];
  return view;
}

/// The target's element for each update in C order; std::nullopt if it is skipped.
inline std::vector<std::optional<std::int64_t>> target_elements(
    const Scatter& call, const std::vector<std::optional<std::int64_t>>& found) {
  const AxisSplit split = split_at(call.target.shape, call.axis);
  const Shape shape = update_shape(call.along_axis, call.target.shape, call.index.shape, call.axis);
  const auto count = static_cast<std::size_t>(count_of(shape));
  std::vector<std::int64_t> base(count);      // of the first element on the axis
  std::vector<std::int64_t> position(count);  // the number of the index
  if (!call.along_axis) {
    std::size_t u = 0;
    for (std::int64_t outer = 0; outer < split.outer; ++outer)
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(found.size()); ++i)
        for (std::int64_t inner = 0; inner < split.inner; ++inner, ++u) {
          position[u] = i;
          base[u] = outer * split.size * split.inner + inner;
        }
  } else {
    if (call.axis != GPUKERN_AXIS_NONE) {
      View numbers = contiguous_numbers(call.target.shape);
      numbers.shape[static_cast<std::size_t>(split.axis)] = 1;
      base = broadcast(numbers, shape).offsets();
    }
    position = broadcast(contiguous_numbers(call.index.shape), shape).offsets();
  }
  std::vector<std::optional<std::int64_t>> elements(count);
  for (std::size_t u = 0; u < count; ++u) {
    const auto& place = found[static_cast<std::size_t>(position[u])];
    if (place) elements[u] = base[u] + *place * split.inner;
  }
  return elements;
}

/// The positions of indices on an axis, up to one that mode "raise" rejects: the expected error.
inline std::vector<std::optional<std::int64_t>> resolved(const View& indices,
                                                         const AxisSplit& split,
                                                         gpukern_index_mode mode,
                                                         Expected& expected) {
  std::vector<std::optional<std::int64_t>> found;
  for (const auto offset : indices.offsets()) {
    const Wide index = load_index(indices.memory->host, offset, indices.dtype);
    const bool resolvable = split.size > 0 || mode == GPUKERN_INDEX_RAISE;
    found.push_back(resolvable ? resolve(index, split.size, mode) : std::nullopt);
    if (found.back() || mode != GPUKERN_INDEX_RAISE) continue;
    expected.status = GPUKERN_INDEX_ERROR;
    expected.message = "index " + text_of(index) + " is out of bounds for axis " +
                       std::to_string(split.axis) + " with size " + std::to_string(split.size);
    break;
  }
  return found;
}

/// The positions that the indices refer to; fills in the error that the call must give.
inline std::vector<std::optional<std::int64_t>> resolved(const Scatter& call, std::int64_t updates,
                                                         Expected& expected) {
  const AxisSplit split = split_at(call.target.shape, call.axis);
  const auto mode = static_cast<gpukern_index_mode>(call.options.mode);
  if (split.size == 0 && updates > 0) {
    expected.status = GPUKERN_INDEX_ERROR;
    expected.message = "cannot do a non-empty put to an empty axis.";
    return {};
  }
  return resolved(call.index, split, mode, expected);
}

/// The memory of the written array after the call, from the host contents of all memories.
inline Expected scatter_oracle(const Scatter& call) {
  const View& written = call.written();
  Expected expected{GPUKERN_SUCCESS, "", written.memory->host};
  const Shape shape = update_shape(call.along_axis, call.target.shape, call.index.shape, call.axis);
  const auto found = resolved(call, count_of(shape), expected);
  if (expected.status != GPUKERN_SUCCESS) return expected;

  const auto item = static_cast<std::size_t>(call.target.item());
  const auto from = call.target.offsets();
  const auto to = call.out != nullptr ? written.offsets() : from;
  const std::byte* const target = call.target.memory->host.data();
  const std::byte* const values = call.values.memory->host.data();
  for (std::size_t k = 0; call.out != nullptr && k < to.size(); ++k)
    std::memcpy(expected.out.data() + to[k], target + from[k], item);
  const auto elements = target_elements(call, found);
  const auto offsets = broadcast(call.values, shape).offsets();
  const auto reduce = static_cast<gpukern_reduce>(call.options.reduce);
  if (reduce == GPUKERN_REDUCE_NONE) {  // the last one stays
    for (std::size_t u = 0; u < elements.size(); ++u)
      if (const auto element = elements[u])
        std::memcpy(expected.out.data() + to[static_cast<std::size_t>(*element)],
                    values + offsets[u], item);
    return expected;
  }

  // The updates in the order of their elements; those of element e end at ends[e]. Counted, since
  // to sort them takes longer than all the rest.
  std::vector<std::size_t> ends(to.size());
  for (const auto element : elements)
    if (element) ++ends[static_cast<std::size_t>(*element)];
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), std::size_t{0});
  std::vector<std::size_t> updates(elements.size());
  for (std::size_t u = 0; u < elements.size(); ++u)
    if (const auto element = elements[u]) updates[ends[static_cast<std::size_t>(*element)]++] = u;

  const std::size_t parts = call.target.dtype.code == GPUKERN_COMPLEX ? 2 : 1;
  std::vector<const std::byte*> sequence;
  std::size_t next = 0;
  for (std::size_t e = 0; e < ends.size(); ++e) {
    if (next == ends[e]) continue;
    sequence.assign(1, target + from[e]);
    for (; next < ends[e]; ++next) sequence.push_back(values + offsets[updates[next]]);
    for (std::size_t part = 0; part < parts; ++part) {
      reduce_function(call.target.dtype)(reduce, sequence,
                                         expected.out.data() + to[e] + part * item / parts);
      for (const std::byte*& number : sequence) number += item / parts;
    }
  }
  return expected;
}

inline void expect_scatter(const Scatter& call, Placement placement) {
  Memory* const written = call.written().memory;
  expect_call(scatter_oracle(call), written,
              {call.target.memory, call.index.memory, call.values.memory, written}, placement,
              [&](const gpukern_exec& exec) { return call.run(exec); });
}

/// Random bits, or numbers whose sums are finite and rounded.
inline void fill_numbers(View& view, Random& random, bool moderate) {
  fill_random(view.memory->host, random);
  const gpukern_dtype dtype = view.dtype;
  const bool complex = dtype.code == GPUKERN_COMPLEX;
  const bool rounds = complex || dtype.code == GPUKERN_FLOAT || dtype.code == GPUKERN_BFLOAT;
  if (!moderate || !rounds) return;
  const std::int64_t part = view.item() / (complex ? 2 : 1);
  for (const auto offset : view.offsets())
    for (std::int64_t at = offset; at < offset + view.item(); at += part) {
      const double number = static_cast<double>(between(random, -2000, 2000)) / 1024;
      Bytes& host = view.memory->host;
      if (part == 8) store(host, at, number);
      if (part == 4) store(host, at, static_cast<float>(number));
      if (part != 2) continue;
      if (dtype.code == GPUKERN_BFLOAT)
        store(host, at, BFloat16::encode(static_cast<float>(number)));
      else
        store(host, at, Half::encode(static_cast<float>(number)));
    }
}

}  // namespace gpukern_test

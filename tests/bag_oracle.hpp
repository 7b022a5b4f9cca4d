// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather_reduce and segment_reduce by their definition: for each element of the output the items of
// its bag, on whole images of all memories of the call.
#pragma once

#include <array>
#include <utility>

#include "scatter_oracle.hpp"

namespace gpukern_test {

inline constexpr gpukern_reduce kBagReductions[] = {GPUKERN_REDUCE_ADD, GPUKERN_REDUCE_MIN,
                                                    GPUKERN_REDUCE_MAX, GPUKERN_REDUCE_MEAN};

inline gpukern_gather_reduce_options bag_options(gpukern_index_mode mode,
                                                 gpukern_reduce reduce = GPUKERN_REDUCE_ADD) {
  gpukern_gather_reduce_options options = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  options.mode = mode;
  options.reduce = reduce;
  return options;
}

/// A call; index and weights may be nullptr. Without an index it is one of segment_reduce.
struct BagCall {
  const View& source;
  const View* index;
  const View& offsets;
  const View* weights;
  std::int32_t axis;
  gpukern_gather_reduce_options options;
  const View& out;

  [[nodiscard]] gpukern_status run(const gpukern_exec& exec) const {
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor bags = offsets.tensor();
    const gpukern_tensor to = out.tensor();
    if (index == nullptr) return gpukern_segment_reduce(&from, &bags, axis, &to, &options, &exec);
    const gpukern_tensor at = index->tensor();
    const gpukern_tensor factors = weights != nullptr ? weights->tensor() : gpukern_tensor{};
    return gpukern_gather_reduce(&from, &at, &bags, weights != nullptr ? &factors : nullptr, axis,
                                 &to, &options, &exec);
  }
};

// ---- one bag ----

/// An item and its weight; nullptr for one that is left out, and without weights.
struct BagItem {
  const std::byte* from;
  const std::byte* weight;
};

/// A number: of its parts, a real one uses the first only.
template <class A>
using Parts = std::array<A, 2>;

template <class T, class A>
Parts<A> parts_at(const std::byte* from, bool complex) {
  Parts<A> parts{};
  for (std::size_t part = 0; part < (complex ? 2 : 1); ++part) {
    T value;
    std::memcpy(&value, from + part * sizeof value, sizeof value);
    if constexpr (std::is_arithmetic_v<T>)
      parts[part] = value;
    else
      parts[part] = value.decode();
  }
  return parts;
}

template <class A>
Parts<A> product(Parts<A> a, Parts<A> b, bool complex) {
  const auto times = [](A x, A y) { return combined(GPUKERN_REDUCE_MULTIPLY, x, y); };
  if constexpr (std::is_floating_point_v<A>)
    if (complex)
      return {times(a[0], b[0]) - times(a[1], b[1]), times(a[0], b[1]) + times(a[1], b[0])};
  return {times(a[0], b[0]), A{}};
}

/// Blocks of 256 items from left to right, then adjacent ones pairwise, level by level; what has no
/// items is left out.
template <class T>
void reduce_bag(gpukern_reduce reduce, bool complex, const std::vector<BagItem>& items,
                std::byte* to) {
  using A = decltype([] {
    if constexpr (std::is_arithmetic_v<T>)
      return T{};
    else
      return T{}.decode();
  }());
  const auto join = [&](std::optional<Parts<A>> a, std::optional<Parts<A>> b) {
    if (!a || !b) return a ? a : b;
    return std::optional(
        Parts<A>{combined(reduce, (*a)[0], (*b)[0]), combined(reduce, (*a)[1], (*b)[1])});
  };
  std::vector<std::optional<Parts<A>>> level;
  std::size_t count = 0;
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (k % 256 == 0) level.emplace_back();
    if (items[k].from == nullptr) continue;
    Parts<A> value = parts_at<T, A>(items[k].from, complex);
    if (items[k].weight != nullptr)
      value = product(value, parts_at<T, A>(items[k].weight, complex), complex);
    level.back() = join(level.back(), value);
    ++count;
  }
  while (level.size() > 1) {
    std::vector<std::optional<Parts<A>>> above;
    for (std::size_t k = 0; k + 1 < level.size(); k += 2)
      above.push_back(join(level[k], level[k + 1]));
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = std::move(above);
  }
  std::memset(to, 0, sizeof(T) * (complex ? 2 : 1));
  const std::optional<Parts<A>> all = level.empty() ? std::nullopt : level[0];
  if (!all) return;
  for (std::size_t part = 0; part < (complex ? 2 : 1); ++part) {
    A value = (*all)[part];
    if constexpr (std::is_floating_point_v<A>) {
      if (reduce == GPUKERN_REDUCE_MEAN) value /= static_cast<A>(count);
      if (std::isnan(value)) value = std::numeric_limits<A>::quiet_NaN();
    }
    T result;
    if constexpr (std::is_arithmetic_v<T>)
      result = value;
    else
      result = T::encode(value);
    std::memcpy(to + part * sizeof result, &result, sizeof result);
  }
}

using ReduceBag = void (*)(gpukern_reduce, bool, const std::vector<BagItem>&, std::byte*);

inline ReduceBag bag_function(gpukern_dtype dtype) {
  const int bits = dtype.code == GPUKERN_COMPLEX ? dtype.bits / 2 : dtype.bits;
  if (dtype.code == GPUKERN_BFLOAT) return reduce_bag<BFloat16>;
  if (dtype.code == GPUKERN_FLOAT || dtype.code == GPUKERN_COMPLEX)
    return bits == 16 ? reduce_bag<Half> : bits == 32 ? reduce_bag<float> : reduce_bag<double>;
  const bool is_signed = dtype.code == GPUKERN_INT;
  if (bits == 8) return is_signed ? reduce_bag<std::int8_t> : reduce_bag<std::uint8_t>;
  if (bits == 16) return is_signed ? reduce_bag<std::int16_t> : reduce_bag<std::uint16_t>;
  if (bits == 32) return is_signed ? reduce_bag<std::int32_t> : reduce_bag<std::uint32_t>;
  return is_signed ? reduce_bag<std::int64_t> : reduce_bag<std::uint64_t>;
}

// ---- a call ----

/// The items [first, second) of each bag; fills in the error that the call must give.
inline std::vector<std::pair<std::int64_t, std::int64_t>> bag_ranges(const BagCall& call,
                                                                     std::int64_t items,
                                                                     Expected& expected) {
  std::vector<Wide> offsets;
  for (const auto at : call.offsets.offsets()) {
    const Wide offset = load_index(call.offsets.memory->host, at, call.offsets.dtype);
    const bool falls = !offsets.empty() && offset < offsets.back();
    if (call.options.mode == GPUKERN_INDEX_RAISE && (offset < 0 || offset > items || falls)) {
      expected.status = GPUKERN_VALUE_ERROR;
      expected.message = std::string(call.index != nullptr ? "gather_reduce" : "segment_reduce") +
                         ": offsets must be in [0, " + std::to_string(items) +
                         "] and not fall, got offsets[" + std::to_string(offsets.size()) +
                         "] = " + text_of(offset);
      return {};
    }
    offsets.push_back(offset);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const auto begin = static_cast<std::int64_t>(std::clamp<Wide>(offsets[b], 0, items));
    const auto end = static_cast<std::int64_t>(std::clamp<Wide>(offsets[b + 1], 0, items));
    ranges.emplace_back(begin, std::max(begin, end));
  }
  return ranges;
}

/// The position on the axis of each item; std::nullopt if it is left out.
inline std::vector<std::optional<std::int64_t>> bag_positions(const BagCall& call,
                                                              Expected& expected) {
  const AxisSplit split = split_at(call.source.shape, call.axis);
  std::vector<std::optional<std::int64_t>> positions;
  if (call.index == nullptr)
    for (std::int64_t i = 0; i < split.size; ++i) positions.emplace_back(i);
  if (call.index == nullptr) return positions;
  if (split.size == 0 && call.index->count() > 0 && call.out.count() > 0) {
    expected.status = GPUKERN_INDEX_ERROR;
    expected.message = "cannot do a non-empty take from an empty axes.";
    return positions;
  }
  return resolved(*call.index, split, static_cast<gpukern_index_mode>(call.options.mode), expected);
}

/// The memory of `out` after the call, from the host contents of all memories.
inline Expected bag_oracle(const BagCall& call) {
  Expected expected{GPUKERN_SUCCESS, "", call.out.memory->host};
  const AxisSplit split = split_at(call.source.shape, call.axis);
  const auto positions = bag_positions(call, expected);
  const std::int64_t items = call.index != nullptr ? call.index->count() : split.size;
  Expected of_index = expected;
  const bool empty_axis =
      of_index.status != GPUKERN_SUCCESS && split.size == 0 && items > 0 && call.out.count() > 0;
  if (!empty_axis) expected.status = GPUKERN_SUCCESS;
  const auto ranges =
      empty_axis ? decltype(bag_ranges(call, 0, expected)){} : bag_ranges(call, items, expected);
  if (expected.status != GPUKERN_SUCCESS) return expected;  // offsets are checked first
  if (of_index.status != GPUKERN_SUCCESS) return of_index;

  const auto from = call.source.offsets();
  const auto to = call.out.offsets();
  const auto weights = call.weights != nullptr ? call.weights->offsets() : Shape{};
  const auto bags = static_cast<std::int64_t>(ranges.size());
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(to.size()); ++k) {
    const std::int64_t inner = k % split.inner;
    const std::int64_t outer = k / split.inner / bags;
    const auto [begin, end] = ranges[static_cast<std::size_t>(k / split.inner % bags)];
    std::vector<BagItem> sequence;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      BagItem item{nullptr, nullptr};
      if (const auto position = positions[i]) {
        const auto e = (outer * split.size + *position) * split.inner + inner;
        item.from = call.source.memory->host.data() + from[static_cast<std::size_t>(e)];
        if (call.weights != nullptr) item.weight = call.weights->memory->host.data() + weights[i];
      }
      sequence.push_back(item);
    }
    bag_function(call.source.dtype)(static_cast<gpukern_reduce>(call.options.reduce),
                                    call.source.dtype.code == GPUKERN_COMPLEX, sequence,
                                    expected.out.data() + to[static_cast<std::size_t>(k)]);
  }
  return expected;
}

inline void expect_bags(const BagCall& call, Placement placement) {
  std::vector<Memory*> memories{call.source.memory, call.offsets.memory, call.out.memory};
  for (const View* view : {call.index, call.weights})
    if (view != nullptr) memories.push_back(view->memory);
  expect_call(bag_oracle(call), call.out.memory, memories, placement,
              [&](const gpukern_exec& exec) { return call.run(exec); });
}

/// Stores offsets of bags with these lengths.
inline void store_offsets(const View& offsets, const std::vector<std::int64_t>& lengths,
                          std::int64_t first = 0) {
  const auto places = offsets.offsets();
  for (std::size_t b = 0; b < places.size(); ++b) {
    store_index(offsets.memory->host, places[b], offsets.dtype, first);
    if (b < lengths.size()) first += lengths[b];
  }
}

}  // namespace gpukern_test

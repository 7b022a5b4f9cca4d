// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather by its definition: slow, on whole images of all memories of the call.
#pragma once

#include <optional>
#include <string>

#include "support.hpp"

namespace gpukern_test {

/// Holds every value of every integer dtype.
__extension__ typedef __int128 Wide;

struct IndexType {
  const char* name;
  gpukern_dtype dtype;
  Wide lowest;
  Wide highest;
};

inline constexpr IndexType kIndexTypes[] = {
    {"int8", {GPUKERN_INT, 8, 1}, INT8_MIN, INT8_MAX},
    {"int16", {GPUKERN_INT, 16, 1}, INT16_MIN, INT16_MAX},
    {"int32", {GPUKERN_INT, 32, 1}, INT32_MIN, INT32_MAX},
    {"int64", {GPUKERN_INT, 64, 1}, INT64_MIN, INT64_MAX},
    {"uint8", {GPUKERN_UINT, 8, 1}, 0, UINT8_MAX},
    {"uint16", {GPUKERN_UINT, 16, 1}, 0, UINT16_MAX},
    {"uint32", {GPUKERN_UINT, 32, 1}, 0, UINT32_MAX},
    {"uint64", {GPUKERN_UINT, 64, 1}, 0, UINT64_MAX},
};
inline constexpr const IndexType& kInt32 = kIndexTypes[2];
inline constexpr const IndexType& kInt64 = kIndexTypes[3];

inline constexpr gpukern_index_mode kModes[] = {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_WRAP,
                                                GPUKERN_INDEX_CLIP, GPUKERN_INDEX_FILL};

/// Little-endian two's complement, as on every machine that CUDA runs on.
inline Wide load_index(const Bytes& bytes, std::int64_t offset, gpukern_dtype dtype) {
  std::uint64_t raw = 0;
  std::memcpy(&raw, bytes.data() + offset, dtype.bits / 8U);
  if (dtype.code == GPUKERN_UINT) return raw;
  const unsigned unused = 64U - dtype.bits;
  return static_cast<std::int64_t>(raw << unused) >> unused;
}

inline void store_index(Bytes& bytes, std::int64_t offset, gpukern_dtype dtype, Wide value) {
  const auto raw = static_cast<std::uint64_t>(value);
  std::memcpy(bytes.data() + offset, &raw, dtype.bits / 8U);
}

inline std::string text_of(Wide value) {
  return value < 0 ? std::to_string(static_cast<std::int64_t>(value))
                   : std::to_string(static_cast<std::uint64_t>(value));
}

/// The item that an index refers to; std::nullopt if it is out of bounds.
inline std::optional<std::int64_t> resolve(Wide index, std::int64_t size, gpukern_index_mode mode) {
  if (mode == GPUKERN_INDEX_WRAP) return static_cast<std::int64_t>(((index % size) + size) % size);
  if (mode == GPUKERN_INDEX_CLIP)
    return static_cast<std::int64_t>(std::clamp<Wide>(index, 0, size - 1));
  if (index < -Wide{size} || index >= size) return std::nullopt;
  return static_cast<std::int64_t>(index < 0 ? index + size : index);
}

/// Indices in bounds for mode "raise", unless `reach` extends their range out of bounds.
inline void fill_indices(View& index, Random& random, std::int64_t size, std::int64_t reach = 0) {
  const IndexType& type = *std::find_if(
      std::begin(kIndexTypes), std::end(kIndexTypes), [&](const IndexType& candidate) {
        return candidate.dtype.code == index.dtype.code && candidate.dtype.bits == index.dtype.bits;
      });
  for (const auto offset : index.offsets()) {
    const Wide low = std::max<Wide>(type.lowest, -Wide{size} - reach);
    // An empty axis has no index in bounds.
    const Wide high = std::max(low, std::min<Wide>(type.highest, Wide{size} - 1 + reach));
    const auto value =
        between(random, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
    store_index(index.memory->host, offset, index.dtype, value);
  }
}

/// A contiguous view that begins `offset` bytes into a memory and ends with it: a read past the
/// view is a read past the memory, which sanitizers detect.
struct Tight : View {
  Tight(Placement placement, gpukern_dtype element, const Shape& extents, std::int64_t first)
      : View{nullptr, element, extents, Shape(extents.size(), 1), first},
        storage(placement, static_cast<std::size_t>(first + count() * item())) {
    for (std::size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
    memory = &storage;
  }
  Memory storage;
};

struct Gather {
  const View& source;
  const View& index;
  std::int32_t axis;
  gpukern_index_mode mode;
  const View& out;
  const View* fill = nullptr;  ///< host memory, C-contiguous

  [[nodiscard]] gpukern_status run(Placement placement) const {
    const gpukern_exec exec = exec_at(placement);
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    const gpukern_tensor value = fill != nullptr ? fill->tensor() : gpukern_tensor{};
    return call_gather(&from, &at, axis, &to,
                       gather_options(mode, fill != nullptr ? &value : nullptr), &exec);
  }
};

/// The axis counted from 0, in the source or in its flattened form.
struct AxisSplit {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;
  std::int64_t axis = 0;
};

inline AxisSplit split_at(const Shape& shape, std::int32_t axis) {
  if (axis == GPUKERN_AXIS_NONE) return {1, count_of(shape), 1, 0};
  if (shape.empty()) return {};
  const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis;
  return {count_of(Shape(shape.begin(), shape.begin() + at)), shape[static_cast<std::size_t>(at)],
          count_of(Shape(shape.begin() + at + 1, shape.end())), at};
}

inline Shape gather_shape(const Shape& source, const Shape& index, std::int32_t axis) {
  if (axis == GPUKERN_AXIS_NONE || source.empty()) return index;
  const auto at = source.begin() + split_at(source, axis).axis;
  Shape shape(source.begin(), at);
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), at + 1, source.end());
  return shape;
}

/// The memory of `out` after the call, computed from the current host contents of all memories.
inline Expected gather_oracle(const Gather& call) {
  const AxisSplit split = split_at(call.source.shape, call.axis);
  const auto from = call.source.offsets();
  const auto at = call.index.offsets();
  const auto to = call.out.offsets();
  Expected expected{GPUKERN_SUCCESS, "", call.out.memory->host};
  if (split.size == 0 && !to.empty())
    return {GPUKERN_INDEX_ERROR, "cannot do a non-empty take from an empty axes.", expected.out};

  // Like NumPy, which checks the indices once for each position before the axis.
  if (split.outer == 0) return expected;
  std::vector<std::optional<std::int64_t>> items;
  for (const auto offset : at) {
    const Wide index = load_index(call.index.memory->host, offset, call.index.dtype);
    const bool resolvable = split.size > 0 || call.mode == GPUKERN_INDEX_RAISE;
    items.push_back(resolvable ? resolve(index, split.size, call.mode) : std::nullopt);
    if (!items.back().has_value() && call.mode == GPUKERN_INDEX_RAISE)
      return {GPUKERN_INDEX_ERROR,
              "index " + text_of(index) + " is out of bounds for axis " +
                  std::to_string(split.axis) + " with size " + std::to_string(split.size),
              expected.out};
  }

  const auto item = static_cast<std::size_t>(call.source.item());
  for (std::size_t k = 0; k < to.size(); ++k) {
    const auto position = static_cast<std::int64_t>(k);
    const std::int64_t inner = position % split.inner;
    const std::int64_t middle = position / split.inner % static_cast<std::int64_t>(items.size());
    const std::int64_t outer = position / split.inner / static_cast<std::int64_t>(items.size());
    const auto& chosen = items[static_cast<std::size_t>(middle)];
    std::byte* target = expected.out.data() + to[k];
    if (chosen.has_value()) {
      const auto placement = (outer * split.size + *chosen) * split.inner + inner;
      std::memcpy(target,
                  &call.source.memory
                       ->host[static_cast<std::size_t>(from[static_cast<std::size_t>(placement)])],
                  item);
    } else if (call.fill != nullptr) {
      const std::int64_t placement = inner % call.fill->count();
      std::memcpy(
          target,
          call.fill->memory->host.data() + call.fill->offset + placement * call.fill->item(), item);
    } else {
      std::memset(target, 0, item);
    }
  }
  return expected;
}

/// Runs a call whose memories are set on the host, and compares every byte of them afterwards.
inline void expect_gather(const Gather& call, Placement placement) {
  const Expected expected = gather_oracle(call);
  Memory* const out = call.out.memory;
  for (Memory* memory : {call.source.memory, call.index.memory, out}) memory->commit();
  const Bytes source = call.source.memory->host;
  const Bytes index = call.index.memory->host;

  const gpukern_status status = call.run(placement);
  EXPECT_EQ(status, expected.status) << gpukern_last_error();
  if (expected.status != GPUKERN_SUCCESS && status == expected.status) {
    EXPECT_EQ(gpukern_last_error(), expected.message);
  }
  for (Memory* memory : {call.source.memory, call.index.memory, out}) memory->fetch();
  EXPECT_TRUE(same_bytes(expected.out, out->host)) << "out";
  if (call.source.memory != out) {
    EXPECT_TRUE(same_bytes(source, call.source.memory->host)) << "source";
  }
  if (call.index.memory != out) {
    EXPECT_TRUE(same_bytes(index, call.index.memory->host)) << "index";
  }
}

}  // namespace gpukern_test

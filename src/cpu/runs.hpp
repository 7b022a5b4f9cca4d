// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Iteration over a loop nest in runs along its innermost dimension, and copies of strided items.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/core/loop.hpp"

namespace gpukern::cpu {

/// The stride of an operand within a run.
template <int Operands>
std::int64_t run_stride(const Loop<Operands>& loop, int operand) {
  return loop.ndim == 0 ? 0 : loop.stride[operand][loop.ndim - 1];
}

/// Calls body(offsets, length) for the runs that cover the positions [begin, end) of the loop in C
/// order; `offsets` are the operands' byte offsets at the first position of the run.
template <int Operands, class Body>
void for_each_run(const Loop<Operands>& loop, std::int64_t begin, std::int64_t end,
                  const Body& body) {
  const int inner = loop.ndim - 1;
  std::array<std::int64_t, Operands> offset{};
  if (inner <= 0) {
    for (int k = 0; k < Operands; ++k) offset[k] = begin * run_stride(loop, k);
    if (begin < end) body(offset, end - begin);
    return;
  }
  std::int64_t at[GPUKERN_MAX_NDIM];  // initialized for the dimensions in use
  for (std::int64_t rest = begin, d = inner; d >= 0; --d) {
    at[d] = rest % loop.extent[d];
    rest /= loop.extent[d];
    for (int k = 0; k < Operands; ++k) offset[k] += at[d] * loop.stride[k][d];
  }
  for (std::int64_t position = begin; position < end;) {
    const std::int64_t length = std::min(loop.extent[inner] - at[inner], end - position);
    body(offset, length);
    position += length;
    if (position == end) continue;
    // Every run but the last one ends at the end of its row: advance to the next row.
    for (int k = 0; k < Operands; ++k) offset[k] -= at[inner] * loop.stride[k][inner];
    at[inner] = 0;
    for (int d = inner - 1; d >= 0; --d) {
      for (int k = 0; k < Operands; ++k) offset[k] += loop.stride[k][d];
      if (++at[d] < loop.extent[d]) break;
      for (int k = 0; k < Operands; ++k) offset[k] -= loop.extent[d] * loop.stride[k][d];
      at[d] = 0;
    }
  }
}

/// The byte offset of a position in a loop over one operand.
inline std::int64_t offset_of(const Loop<1>& loop, std::int64_t position) {
  std::int64_t offset = 0;
  for (int d = loop.ndim - 1; d > 0; --d) {
    offset += position % loop.extent[d] * loop.stride[0][d];
    position /= loop.extent[d];
  }
  return loop.ndim > 0 ? offset + position * loop.stride[0][0] : 0;
}

/// Calls visit(width) with the size of an item, as a constant for common sizes: a copy of a
/// constant size compiles to one move.
template <class Visit>
void visit_width(std::int64_t item, const Visit& visit) {
  switch (item) {
    case 1:
      return visit(std::integral_constant<std::size_t, 1>{});
    case 2:
      return visit(std::integral_constant<std::size_t, 2>{});
    case 4:
      return visit(std::integral_constant<std::size_t, 4>{});
    case 8:
      return visit(std::integral_constant<std::size_t, 8>{});
    case 16:
      return visit(std::integral_constant<std::size_t, 16>{});
    case 32:
      return visit(std::integral_constant<std::size_t, 32>{});
    case 64:
      return visit(std::integral_constant<std::size_t, 64>{});
    default:
      return visit(static_cast<std::size_t>(item));
  }
}

/// Copies an item to contiguous ones.
template <class Width>
void repeat_item(const std::byte* from, std::byte* to, std::int64_t count, Width width) {
  constexpr std::size_t kItems = 128 / Width{};
  std::array<std::byte, kItems * Width{}> items;
  std::memcpy(items.data(), from, width);
  if (std::memcmp(items.data(), items.data() + 1, width - 1) == 0) {
    std::memset(to, static_cast<int>(items[0]), static_cast<std::size_t>(count) * width);
    return;
  }
  if (count >= std::int64_t{kItems}) {
    for (std::size_t k = 1; k < kItems; ++k)
      std::memcpy(items.data() + k * width, items.data(), width);
    for (; count >= std::int64_t{kItems}; count -= kItems, to += items.size())
      std::memcpy(to, items.data(), items.size());
  }
  for (; count > 0; --count, to += width) std::memcpy(to, items.data(), width);
}

/// Copies strided items. The parameters are passed by value: those behind references would be
/// loaded anew after each store of bytes, which may alias them.
template <class Width>
void copy_items(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                std::int64_t count, Width width) {
  const auto item = static_cast<std::int64_t>(width);
  if (to_step == item && from_step == item) {
    std::memcpy(to, from, static_cast<std::size_t>(count * item));
    return;
  }
  if constexpr (!std::is_same_v<Width, std::size_t>) {
    if (to_step == item && from_step == 0) return repeat_item(from, to, count, width);
  }
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * to_step, from + i * from_step, width);
}

/// Whether the innermost dimension has short rows of items, contiguous in every operand.
template <int Operands>
bool has_short_rows(const Loop<Operands>& loop, std::int64_t item) {
  constexpr std::int64_t kShort = 64;
  const int inner = loop.ndim - 1;
  bool contiguous = inner >= 1 && loop.extent[inner] <= kShort / item;
  for (int k = 0; k < Operands && contiguous; ++k) contiguous = loop.stride[k][inner] == item;
  return contiguous;
}

/// Makes rows that has_short_rows() has found the items.
template <int Operands>
void join_short_rows(Loop<Operands>& loop, std::int64_t& item) {
  item *= loop.extent[--loop.ndim];
}

/// The number of positions that justifies a thread: 64 KiB of results.
inline std::int64_t grain_of(std::int64_t item) {
  return std::max<std::int64_t>(1, (std::int64_t{64} << 10) / item);
}

}  // namespace gpukern::cpu

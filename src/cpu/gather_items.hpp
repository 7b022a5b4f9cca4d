// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The inner loop of gather: items of a known width, found by indices of a known type and mode.
#pragma once

#include <algorithm>
#include <limits>

#include "cache.hpp"
#include "index_types.hpp"

namespace gpukern::cpu {

/// Items along the index. Their source lies `source_step` bytes times the position from `source`.
struct ItemRun {
  const std::byte* source;
  std::int64_t source_step;
  const std::byte* index;
  std::int64_t index_step;
  std::byte* out;
  std::int64_t out_step;
  std::int64_t count;
  std::int64_t n;  ///< length of the axis
};

/// In the place of a position or an offset: the item is filled. No offset of memory is that.
constexpr std::int64_t kMissing = std::numeric_limits<std::int64_t>::min();

/// What an index of type T stands for in a mode: as resolve_index(), but without branches where
/// that is cheap, since signs may come in any order.
template <class T, gpukern_mode mode>
struct Resolve {
  static std::int64_t position(const std::byte* index, std::int64_t n) {
    const std::int64_t value = load<T>(index);
    if constexpr (mode == GPUKERN_WRAP || (mode == GPUKERN_CLIP && !std::is_signed_v<T>)) {
      return resolve_index(mode, value, std::is_signed_v<T>, n);
    } else if constexpr (mode == GPUKERN_CLIP) {
      return std::clamp<std::int64_t>(value, 0, n - 1);
    } else {
      const std::int64_t from_end = std::is_signed_v<T> ? n & (value >> 63) : 0;
      const std::int64_t position = value + from_end;
      constexpr std::int64_t kOutside = mode == GPUKERN_FILL ? kMissing : 0;
      return static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(n) ? position
                                                                                  : kOutside;
    }
  }
  static constexpr bool kMayFill = mode == GPUKERN_FILL;
};

/// Positions, or offsets if source_step is 1, that are resolved already.
struct Resolved {
  static std::int64_t position(const std::byte* index, std::int64_t) {
    return load<std::int64_t>(index);
  }
  static constexpr bool kMayFill = true;
};

/// Fetches an item into the cache.
template <class Width>
void prefetch_item(const std::byte* item, Width width) {
  // Of a long row the beginning; the hardware sees how it goes on.
  constexpr std::int64_t kBeginning = 8 * kCacheLine;
  const auto bytes = static_cast<std::int64_t>(width);
  if (bytes <= 16) {
    __builtin_prefetch(item);
    return;
  }
  const std::int64_t end = std::min(bytes, kBeginning);
  for (std::int64_t at = 0; at < end; at += kCacheLine) __builtin_prefetch(item + at);
  __builtin_prefetch(item + end - 1);
}

/// Moves the items; fill(out) writes one that has no source. With `far`, items are fetched some
/// way ahead: on random items that is worth a third of the time where the source lies in memory,
/// and costs as much where it lies in the core's cache.
template <class Index, bool far, class Width, class Fill>
void move_items(const ItemRun& given, Width width, const Fill& fill) {
  const ItemRun run = given;  // in registers, where no item that is written may be a part of it
  // Lines on their way: more than a core can have open at once.
  constexpr std::int64_t kLines = 32;
  const std::int64_t lines = 1 + (static_cast<std::int64_t>(width) - 1) / kCacheLine;
  const std::int64_t ahead = std::max<std::int64_t>(2, kLines / lines);
  auto find = [&run](std::int64_t i) {
    return Index::position(run.index + i * run.index_step, run.n);
  };
  auto move = [&](std::int64_t i) {
    const std::int64_t position = find(i);
    std::byte* out = run.out + i * run.out_step;
    if (Index::kMayFill && position == kMissing)
      fill(out);
    else
      std::memcpy(out, run.source + position * run.source_step, width);
  };
  std::int64_t i = 0;
  if constexpr (far) {
    for (; i < run.count - ahead; ++i) {
      const std::int64_t next = find(i + ahead);
      prefetch_item(run.source + (next == kMissing ? 0 : next * run.source_step), width);
      move(i);
    }
  }
  for (; i < run.count; ++i) move(i);
}

}  // namespace gpukern::cpu

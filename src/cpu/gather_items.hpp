// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The inner loop of gather, for items of a known width and indices of a known type and mode.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "src/cpu/cache.hpp"
#include "src/cpu/index_types.hpp"
#include "src/cpu/isa.hpp"

namespace gpukern::cpu {

/// Items along the index. The source item at position p is at source + p * source_step, in bytes.
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

/// Resolves an index of type T in a mode as resolve_index() does, but without branches where they
/// are avoidable, since signs may alternate. Sets `bad` to a value other than 0 and returns
/// position 0 for an index that mode "raise" rejects.
template <class T, gpukern_index_mode mode>
struct Resolve {
  using Type = T;
  static std::int64_t position(const std::byte* index, std::int64_t n, std::int64_t& bad) {
    const std::int64_t value = load<T>(index);
    if constexpr (mode == GPUKERN_INDEX_WRAP ||
                  (mode == GPUKERN_INDEX_CLIP && !std::is_signed_v<T>)) {
      return resolve_index(mode, value, std::is_signed_v<T>, n);
    } else if constexpr (mode == GPUKERN_INDEX_CLIP) {
      return std::clamp<std::int64_t>(value, 0, n - 1);
    } else {
      const std::int64_t from_end = std::is_signed_v<T> ? n & (value >> 63) : 0;
      const std::int64_t position = value + from_end;
      constexpr std::int64_t kOutside = mode == GPUKERN_INDEX_FILL ? kNoPosition : 0;
      const bool inside = static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(n);
      const std::int64_t found = inside ? position : kOutside;
      if constexpr (mode == GPUKERN_INDEX_RAISE) bad |= position ^ found;
      return found;
    }
  }
  static constexpr bool kMayFill = mode == GPUKERN_INDEX_FILL;
};

/// Reads indices that have been resolved to positions, or to offsets if source_step is 1.
struct Resolved {
  using Type = std::int64_t;
  static std::int64_t position(const std::byte* index, std::int64_t, std::int64_t&) {
    return load<std::int64_t>(index);
  }
  static constexpr bool kMayFill = true;
};

/// Prefetches an item, a short one into the second-level cache.
template <class Width>
void prefetch_item(const std::byte* item, Width width) {
  // The hardware prefetcher continues after the beginning of a long row.
  constexpr std::int64_t kBeginning = 8 * kCacheLine;
  const auto bytes = static_cast<std::int64_t>(width);
  if (bytes <= kCacheLine) {
    prefetch<CacheLevel::Second>(item);
    if (bytes > 16) prefetch<CacheLevel::Second>(item + bytes - 1);
    return;
  }
  const std::int64_t end = std::min(bytes, kBeginning);
  for (std::int64_t at = 0; at < end; at += kCacheLine) prefetch(item + at);
  prefetch(item + end - 1);
}

/// The distance of prefetching in items: more cache lines than a core can have in flight.
constexpr std::int64_t items_ahead(std::int64_t bytes) {
  return bytes <= kCacheLine ? 64 : std::max<std::int64_t>(2, 32 * kCacheLine / bytes);
}

/// Moves the items; fill(out) writes one without a source. `far` prefetches the items: that saves a
/// third of the time for random items of a source in memory, and costs as much for a source in the
/// core's cache. The `more` indices after those of the run are prefetched as well. Returns false if
/// mode "raise" rejects an index. Inlined, so that constant steps remain constants.
template <class Index, bool far, class Width, class Fill>
[[gnu::always_inline]] inline bool move_items(const ItemRun& given, Width width, const Fill& fill,
                                              std::int64_t more = 0) {
  const ItemRun run = given;  // a copy that the stores to out cannot alias, for registers
  const std::int64_t ahead = items_ahead(static_cast<std::int64_t>(width));
  std::int64_t bad = 0;
  auto find = [&run, &bad](std::int64_t i) {
    return Index::position(run.index + i * run.index_step, run.n, bad);
  };
  auto move = [&](std::int64_t i) {
    const std::int64_t position = find(i);
    std::byte* out = run.out + i * run.out_step;
    if (Index::kMayFill && position == kNoPosition)
      fill(out);
    else
      std::memcpy(out, run.source + position * run.source_step, width);
  };
  std::int64_t i = 0;
  if constexpr (far) {
    for (const std::int64_t end = std::min(run.count, run.count + more - ahead); i < end; ++i) {
      std::int64_t told_later = 0;
      const std::byte* const index = run.index + (i + ahead) * run.index_step;
      const std::int64_t next = Index::position(index, run.n, told_later);
      prefetch_item(run.source + (next == kNoPosition ? 0 : next * run.source_step), width);
      move(i);
    }
  }
  for (; i < run.count; ++i) move(i);
  return bad == 0;
}

/// Copies indices as numbers of type To. Returns true if each is a position on the axis, without
/// wrapping negative ones. n is at most a quarter of the range of T and of To.
template <class T, class To>
[[gnu::always_inline]] inline bool copy_positions_of(const std::byte* index, std::int64_t count,
                                                     std::int64_t n, To* to) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto last = static_cast<Unsigned>(n - 1);
  Unsigned signs = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, index + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    to[i] = static_cast<To>(value);
    signs |= static_cast<Unsigned>(value) | (last - static_cast<Unsigned>(value));
  }
  return static_cast<T>(signs) >= 0;
}

template <class T, class To>
bool copy_positions_baseline(const std::byte* index, std::int64_t count, std::int64_t n, To* to) {
  return copy_positions_of<T>(index, count, n, to);
}
#ifdef GPUKERN_X86
template <class T, class To>
[[gnu::target("avx2")]] bool copy_positions_avx2(const std::byte* index, std::int64_t count,
                                                 std::int64_t n, To* to) {
  return copy_positions_of<T>(index, count, n, to);
}
#endif

template <class T, class To>
bool copy_positions(const std::byte* index, std::int64_t count, std::int64_t n, To* to) {
#ifdef GPUKERN_X86
  if (widest_isa() >= Isa::Avx2) return copy_positions_avx2<T>(index, count, n, to);
#endif
  return copy_positions_baseline<T>(index, count, n, to);
}

/// Moves contiguous items by positions that have been checked.
template <class To, class Count, class Width>
[[gnu::always_inline]] inline void move_positions(const std::byte* source, const To* position,
                                                  Count count, std::byte* out, Width width) {
  constexpr auto kItem = static_cast<std::int64_t>(Width{});
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * kItem, source + std::int64_t{position[i]} * kItem, width);
}

/// Moves contiguous items up to the first index that is not in [0, n), and returns their number.
/// Each index is read once, so that a concurrent write to the indices cannot cause a read out of
/// bounds. Prefetches the indices as well, since the hardware prefetcher stops at the end of a
/// page.
template <class T, class Width>
std::int64_t move_plain(const std::byte* source, const std::byte* index, std::int64_t count,
                        std::int64_t n, std::byte* out, Width width) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr auto kItem = static_cast<std::int64_t>(Width{});
  constexpr std::int64_t kIndex = sizeof(T);
  constexpr std::int64_t kLine = kCacheLine / kIndex;
  constexpr std::int64_t kFetched = 2048;  // bytes ahead
  const auto limit = static_cast<Unsigned>(n);
  auto move = [&](std::int64_t i) {
    T value;
    std::memcpy(&value, index + i * kIndex, sizeof(T));
    if (static_cast<Unsigned>(value) >= limit) return false;
    std::memcpy(out + i * kItem, source + std::int64_t{value} * kItem, width);
    return true;
  };
  std::int64_t i = 0;
  while (i + kLine <= count) {
    prefetch(index + i * kIndex + kFetched);
    for (std::int64_t k = 0; k < kLine; ++k, ++i)
      if (!move(i)) return i;
  }
  while (i < count && move(i)) ++i;
  return i;
}

/// As move_positions(), with prefetching; `more` positions follow the first `count`.
template <class T, class Width>
void move_ahead(const std::byte* source, const T* position, std::int64_t count, std::int64_t more,
                std::byte* out, Width width) {
  constexpr auto kItem = static_cast<std::int64_t>(Width{});
  constexpr std::int64_t kAhead = items_ahead(kItem);
  std::int64_t i = 0;
  for (const std::int64_t end = std::min(count, count + more - kAhead); i < end; ++i) {
    prefetch_item(source + std::int64_t{position[i + kAhead]} * kItem, width);
    std::memcpy(out + i * kItem, source + std::int64_t{position[i]} * kItem, width);
  }
  move_positions(source, position + i, count - i, out + i * kItem, width);
}

/// Whether move_packed() can move a run: contiguous indices, and contiguous items of up to 16
/// bytes.
inline bool is_packed(std::int64_t item, std::int64_t source_step, std::int64_t index_bytes,
                      std::int64_t index_step, std::int64_t out_step, std::int64_t n) {
  constexpr std::int64_t kQuarter32 = std::int64_t{1} << 30;
  return item <= 16 && source_step == item && index_step == index_bytes && out_step == item &&
         n <= kQuarter32;
}

/// Guesses from a sample whether the hardware prefetches the items of these indices: they are
/// within a small window of the source, or neighbours are. The result affects speed only.
template <class T>
bool come_by_themselves(const std::byte* index, std::int64_t count, std::int64_t item) {
  constexpr std::int64_t kLooks = 8;
  constexpr std::int64_t kWindow = std::int64_t{512} << 10;
  if (count < 2 * kLooks) return true;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  std::int64_t beside = 0;
  for (std::int64_t k = 0; k < kLooks; ++k) {
    const std::byte* at = index + k * (count / kLooks) * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t value = load<T>(at);
    const std::int64_t next = load<T>(at + sizeof(T));
    least = std::min(least, value);
    most = std::max(most, value);
    const std::uint64_t step = static_cast<std::uint64_t>(next) - static_cast<std::uint64_t>(value);
    if (step <= static_cast<std::uint64_t>(kCacheLine / item)) ++beside;
  }
  return least >= 0 && (beside >= kLooks - 2 || most - least <= kWindow / item);
}

/// The part of a run that starts at item `begin`.
inline ItemRun rest_of(const ItemRun& run, std::int64_t begin) {
  ItemRun rest = run;
  rest.index += begin * run.index_step;
  rest.out += begin * run.out_step;
  rest.count -= begin;
  return rest;
}

/// As move_items(), block by block, for runs that is_packed() accepts. In a block that the hardware
/// prefetches, each index in [0, n) costs two loads, a comparison and a store, in every mode; from
/// the first other index on, the indices of the block are resolved one by one. With `far`, `checks`
/// selects a block whose indices are copied and checked by vector instructions before its items are
/// prefetched and moved; without it all indices are resolved, see checks_ahead(). Only checked
/// values are used, so that a concurrent write to the indices cannot cause a read out of bounds.
template <class Index, bool far, class Width, class Fill>
bool move_packed(const ItemRun& run, Width width, const Fill& fill, bool checks) {
  using T = typename Index::Type;
  constexpr auto kItem = static_cast<std::int64_t>(Width{});
  constexpr std::int64_t kBlock = 256;
  constexpr std::int64_t kAhead = items_ahead(kItem);
  std::array<T, kBlock + kAhead> block;
  bool good = true;
  for (std::int64_t done = 0; done < run.count; done += kBlock) {
    ItemRun part =
        rest_of({run.source, kItem, run.index, sizeof(T), run.out, kItem, run.count, run.n}, done);
    const std::int64_t left = std::max<std::int64_t>(0, part.count - kBlock);
    part.count -= left;
    if (!far || come_by_themselves<T>(part.index, part.count, kItem)) {
      const std::int64_t plain =
          move_plain<T>(run.source, part.index, part.count, run.n, part.out, width);
      if (plain < part.count)
        good = move_items<Index, false>(rest_of(part, plain), width, fill) && good;
      continue;
    }
    const std::int64_t more = std::min(left, kAhead);
    if (checks && copy_positions<T>(part.index, part.count + more, run.n, block.data()))
      move_ahead(run.source, block.data(), part.count, more, part.out, width);
    else
      good = move_items<Index, far>(part, width, fill, left) && good;
  }
  return good;
}

}  // namespace gpukern::cpu

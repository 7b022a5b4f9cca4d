// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/index_tuple.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/cpu/gather_items.hpp"
#include "src/cpu/isa.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/runs.hpp"

namespace gpukern::cpu {
namespace {

/// One axis of a block.
struct AxisRun {
  const std::byte* index;
  std::int64_t index_step;
  std::int64_t count;
  std::int64_t n;              ///< length of the axis
  std::int64_t step;           ///< bytes of the source from one position to the next
  const std::int64_t* before;  ///< offsets of the axes before, not read for the first
  std::int64_t* to;            ///< with this axis; apart from `before`
};

/// Adds the offsets of contiguous indices. Returns true if each is a position on the axis, without
/// wrapping negative ones, as copy_positions().
template <class T, bool is_first>
[[gnu::always_inline]] inline bool add_positions_of(const AxisRun& run) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto [index, index_step, count, n, step, before, to] = run;
  const auto last = static_cast<Unsigned>(n - 1);
  Unsigned signs = 0;
  // The hardware prefetcher stops while the items of a block are moved.
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) prefetch(index + bytes + at);
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, index + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    // Of a value out of bounds the product is not used, and may wrap.
    const auto offset = static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(step) +
                        static_cast<std::uint64_t>(is_first ? 0 : before[i]);
    to[i] = static_cast<std::int64_t>(offset);
    signs |= static_cast<Unsigned>(value) | (last - static_cast<Unsigned>(value));
  }
  return static_cast<T>(signs) >= 0;
}

template <class T, bool is_first>
bool add_positions_baseline(const AxisRun& run) {
  return add_positions_of<T, is_first>(run);
}
#ifdef GPUKERN_X86
template <class T, bool is_first>
[[gnu::target("avx2")]] bool add_positions_avx2(const AxisRun& run) {
  return add_positions_of<T, is_first>(run);
}
#endif

template <class T, bool is_first>
bool add_positions(const AxisRun& run) {
#ifdef GPUKERN_X86
  if (widest_isa() >= Isa::Avx2) return add_positions_avx2<T, is_first>(run);
#endif
  return add_positions_baseline<T, is_first>(run);
}

template <class T, gpukern_index_mode mode, bool is_first>
bool add_axis(const AxisRun& run) {
  using Signed = std::make_signed_t<T>;  // resolves too large numbers of an unsigned type below
  constexpr bool kMayMiss = mode == GPUKERN_INDEX_FILL;
  if ((is_first || !kMayMiss) && run.index_step == sizeof(T) &&
      run.n <= std::numeric_limits<Signed>::max() / 4 && add_positions<Signed, is_first>(run))
    return true;
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < run.count; ++i) {
    const std::int64_t position =
        Resolve<T, mode>::position(run.index + i * run.index_step, run.n, bad);
    const std::int64_t before = is_first ? 0 : run.before[i];
    const bool is_missing = kMayMiss && (position == kNoPosition || before == kNoPosition);
    run.to[i] = is_missing ? kNoPosition : before + position * run.step;
  }
  return bad == 0;
}

using AddAxis = bool (*)(const AxisRun& run);

template <bool is_first>
AddAxis add_axis_for(IndexType type, gpukern_index_mode mode) {
  AddAxis chosen = nullptr;
  visit_index_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    static constexpr std::array<AddAxis, 4> by_mode{
        add_axis<T, GPUKERN_INDEX_RAISE, is_first>, add_axis<T, GPUKERN_INDEX_WRAP, is_first>,
        add_axis<T, GPUKERN_INDEX_CLIP, is_first>, add_axis<T, GPUKERN_INDEX_FILL, is_first>};
    chosen = by_mode[static_cast<std::size_t>(mode)];
  });
  return chosen;
}

}  // namespace

bool tuple_offsets(const IndexTuple& tuple, gpukern_index_mode mode, std::int64_t first,
                   std::int64_t count, std::int64_t* offset) {
  std::array<std::int64_t, kTupleBlock> other;
  // Each axis writes to the other one of two arrays, the last one to `offset`.
  std::int64_t* to = tuple.axes.size() % 2 == 1 ? offset : other.data();
  std::int64_t* before = tuple.axes.size() % 2 == 1 ? other.data() : offset;
  bool is_first = true;
  bool good = true;
  for (const auto& [index, step] : tuple.axes) {
    const AddAxis add = is_first ? add_axis_for<true>(index.index_type, mode)
                                 : add_axis_for<false>(index.index_type, mode);
    AxisRun run{index.index, run_stride(index.loop, 0), 0, index.n, step, before, to};
    for_each_run(index.loop, first, first + count, [&](const auto& at, std::int64_t length) {
      run.index = index.index + at[0];
      run.count = length;
      good = add(run) && good;
      run.before += length;
      run.to += length;
    });
    std::swap(before, to);
    is_first = false;
  }
  return good;
}

bool all_in_bounds(const IndexTuple& tuple, std::int64_t begin, std::int64_t end) {
  return std::ranges::all_of(tuple.axes, [&](const IndexTuple::OfAxis& axis) {
    return all_in_bounds(axis.index, begin, end);
  });
}

}  // namespace gpukern::cpu

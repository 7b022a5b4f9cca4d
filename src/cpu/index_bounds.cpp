// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Finds indices that mode "raise" rejects.

#include <algorithm>
#include <atomic>
#include <limits>

#include "src/cpu/index_types.hpp"
#include "src/cpu/isa.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// Indices between two checks of what other threads have found.
constexpr std::int64_t kBlock = 4096;

// The number of indices that justifies a thread, at less than 0.5 ns each.
constexpr std::int64_t kGrain = std::int64_t{6} << 10;

/// Whether all indices are in bounds: ORs the signs of v + n (of v, if unsigned) and n - 1 - v for
/// every index v; a negative result means that one is out of bounds. Wrapping arithmetic vectorizes
/// without comparisons. n is at most a quarter of the range of Wide, so that a sum that wraps is
/// negative, as it must be.
template <class T, class Wide, class Step>
[[gnu::always_inline]] inline bool in_bounds_by_step(const std::byte* index, Step step,
                                                     std::int64_t count, std::int64_t n) {
  using Unsigned = std::make_unsigned_t<Wide>;
  const auto limit = static_cast<Unsigned>(n);
  const Unsigned below = std::is_signed_v<T> ? limit : 0;
  Unsigned signs = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, index + i * step, sizeof(T));
    const auto v = static_cast<Unsigned>(static_cast<Wide>(value));
    signs |= (v + below) | (limit - 1 - v);
  }
  return static_cast<Wide>(signs) >= 0;
}

// The same code for two instruction sets, chosen at run time: with AVX2 it takes a third of the
// time.
template <class T, class Wide>
bool contiguous_in_bounds(const std::byte* index, std::int64_t count, std::int64_t n) {
  constexpr std::integral_constant<std::int64_t, sizeof(T)> kStep{};
  return in_bounds_by_step<T, Wide>(index, kStep, count, n);
}
#ifdef GPUKERN_X86
template <class T, class Wide>
[[gnu::target("avx2")]] bool contiguous_in_bounds_avx2(const std::byte* index, std::int64_t count,
                                                       std::int64_t n) {
  constexpr std::integral_constant<std::int64_t, sizeof(T)> kStep{};
  return in_bounds_by_step<T, Wide>(index, kStep, count, n);
}
#endif

template <class T, class Wide>
bool vector_in_bounds(const std::byte* index, std::int64_t count, std::int64_t n) {
#ifdef GPUKERN_X86
  if (widest_isa() >= Isa::Avx2) return contiguous_in_bounds_avx2<T, Wide>(index, count, n);
#endif
  return contiguous_in_bounds<T, Wide>(index, count, n);
}

/// Whether all indices are known to be in bounds; false also for an axis that is too long for the
/// vectorized arithmetic.
template <class T>
bool surely_in_bounds(const std::byte* index, std::int64_t step, std::int64_t count,
                      std::int64_t n) {
  constexpr std::int64_t kQuarter32 = std::int64_t{1} << 30;
  constexpr std::int64_t kQuarter64 = std::int64_t{1} << 62;
  // Types that fit in int32 are twice as fast in 32 bits; uint32 does not fit.
  using Short = std::conditional_t<sizeof(T) < 4 || std::is_same_v<T, std::int32_t>, std::int32_t,
                                   std::int64_t>;
  if (n > kQuarter64) return false;
  if (step != sizeof(T)) return in_bounds_by_step<T, std::int64_t>(index, step, count, n);
  if (n > kQuarter32) return vector_in_bounds<T, std::int64_t>(index, count, n);
  return vector_in_bounds<T, Short>(index, count, n);
}

/// Lowers `first` to the position if that is smaller.
void note(std::atomic<std::int64_t>& first, std::int64_t position) {
  std::int64_t seen = first.load(std::memory_order_relaxed);
  while (position < seen && !first.compare_exchange_weak(seen, position)) {
  }
}

/// Searches the positions [begin, end) of the loop up to the first bad index or one found before.
template <class T>
void search(const IndexArgs& args, std::int64_t begin, std::int64_t end,
            std::atomic<std::int64_t>& first) {
  const std::int64_t step = run_stride(args.loop, 0);
  std::int64_t position = begin;
  for_each_run(args.loop, begin, end, [&](const auto& offset, std::int64_t length) {
    const std::byte* index = args.index + offset[0];
    for (std::int64_t done = 0; done < length; done += kBlock) {
      if (position + done >= first.load(std::memory_order_relaxed)) break;
      const std::int64_t stop = std::min(done + kBlock, length);
      if (surely_in_bounds<T>(index + done * step, step, stop - done, args.n)) continue;
      std::int64_t bad = done;
      while (bad < stop && in_bounds(load<T>(index + bad * step), std::is_signed_v<T>, args.n))
        ++bad;
      if (bad == stop) continue;
      note(first, position + bad);
      break;
    }
    position += length;
  });
}

/// As search(), for offsets, which have one dimension.
template <class T>
void search_offsets(const IndexArgs& args, std::int64_t begin, std::int64_t end,
                    std::atomic<std::int64_t>& first) {
  const std::int64_t step = run_stride(args.loop, 0);
  std::int64_t before = begin > 0 ? load<T>(args.index + (begin - 1) * step) : 0;
  for (std::int64_t position = begin; position < end; ++position) {
    const auto value = load<T>(args.index + position * step);
    if (!is_offset(value, before, args.n)) return note(first, position);
    before = value;
  }
}

}  // namespace

bool all_in_bounds(const IndexArgs& args, std::int64_t begin, std::int64_t end) {
  std::atomic<std::int64_t> first{kNone};
  visit_index_type(args.index_type, [&](auto tag) {
    search<typename decltype(tag)::type>(args, begin, end, first);
  });
  return first.load(std::memory_order_relaxed) == kNone;
}

std::optional<BadIndex> first_bad_index(const IndexArgs& args) {
  std::optional<BadIndex> found;
  visit_index_type(args.index_type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::atomic<std::int64_t> first{kNone};
    const auto search_one = args.are_offsets ? search_offsets<T> : search<T>;
    parallel_for(args.loop.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      search_one(args, begin, end, first);
    });
    const std::int64_t bad = first.load();
    if (bad == kNone) return;
    for_each_run(args.loop, bad, bad + 1, [&](const auto& offset, std::int64_t) {
      found = BadIndex{load<T>(args.index + offset[0]), bad};
    });
  });
  return found;
}

void record_bad_index(const RecordIndexArgs& args) {
  const std::optional<BadIndex> bad = first_bad_index(args.index);
  if (bad && args.record->is_after(args.origin, bad->position)) args.record->set(args.origin, *bad);
}

}  // namespace gpukern::cpu

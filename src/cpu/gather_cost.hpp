// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Estimates where the items of a gather are read from, and how many items justify a thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "src/core/operation.hpp"
#include "src/cpu/cache.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {

/// Bytes from item to item of the source along the axis, for an axis of one dimension; else 0.
inline std::int64_t source_step(const GatherArgs& args) {
  return args.axis.ndim == 1 ? args.axis.stride[0][0] : 0;
}

/// The nearest cache that holds the cache lines that the axis spans.
enum class Reach { Core, Shared, Far };

inline Reach reach_of(const GatherArgs& args) {
  // A core keeps this many loads in flight without prefetching.
  constexpr std::int64_t kFew = 64;
  if (args.loop.count() <= kFew) return Reach::Core;
  std::int64_t step = args.axis.ndim > 0 ? kCacheLine : 0;
  for (int d = 0; d < args.axis.ndim; ++d) step = std::min(step, std::abs(args.axis.stride[0][d]));
  step = std::max(step, args.item);
  if (args.n > near_cache_bytes() / step) return Reach::Far;
  return args.n > core_cache_bytes() / 2 / step ? Reach::Shared : Reach::Core;
}

/// The number of items that justifies an awake thread. Nanoseconds per item of 4 bytes, one thread,
/// second-level cache of 2 MiB: sources up to 1 MiB 0.7 to 1.1, of 2 and 4 MiB 1.8, of 8 MiB 4.5,
/// of 512 MiB 9. `checked`: the threads check their indices and wait for each other before they
/// gather. For 1000 items from memory that costs more than a second thread gains (3.7 us on a Xeon,
/// against 2.7 us on one thread); for 4096 items from caches it costs less.
inline std::int64_t gather_grain(const GatherArgs& args, bool checked = false) {
  const Reach reach = reach_of(args);
  // Waits for memory overlap between threads, so that less time justifies another one.
  const std::int64_t nanoseconds = reach == Reach::Core             ? 6000
                                   : reach == Reach::Far && checked ? 8000
                                                                    : 4000;
  const std::int64_t each = reach == Reach::Far      ? 8 + args.item / 8
                            : reach == Reach::Shared ? 2 + args.item / 16
                                                     : 1 + args.item / 16;
  return std::max<std::int64_t>(1, nanoseconds / each);
}

/// Items of at least twice this size are divided into pieces, which several threads copy.
constexpr std::int64_t kPiece = std::int64_t{64} << 10;

inline bool is_long(const GatherArgs& args) { return args.item >= 2 * kPiece; }

inline std::int64_t pieces_of(const GatherArgs& args) { return (args.item + kPiece - 1) / kPiece; }

/// Whether each thread checks the indices that it gathers by, for an output that must not change if
/// an index is bad: every position has a separate index, and the work justifies several threads.
inline bool is_checked_by_threads(const GatherArgs& args) {
  const auto* step = args.loop.stride[kIndex];
  return args.mode == GPUKERN_INDEX_RAISE && !args.out_may_change && !is_long(args) &&
         std::none_of(step, step + args.loop.ndim, [](std::int64_t bytes) { return bytes == 0; }) &&
         threads_for(args.loop.count(), gather_grain(args)) > 1;
}

}  // namespace gpukern::cpu

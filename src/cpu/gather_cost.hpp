// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// From where a gather's items come, and how many are worth a thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "src/cpu/cache.hpp"
#include "src/runtime/backend.hpp"
#include "src/threading/parallel.hpp"

namespace gpukern::cpu {

/// Bytes from item to item of the source along the axis, if that is one dimension.
inline std::int64_t source_step(const GatherArgs& args) {
  return args.axis.ndim == 1 ? args.axis.stride[0][0] : 0;
}

/// The nearest cache that holds what the axis spans, in bytes that are fetched.
enum class Reach { Core, Shared, Far };

inline Reach reach_of(const GatherArgs& args) {
  // A core fetches so many items at once without being told to.
  constexpr std::int64_t kFew = 64;
  if (args.loop.count() <= kFew) return Reach::Core;
  const std::int64_t step = std::max(args.item, std::min(std::abs(source_step(args)), kCacheLine));
  if (args.axis.ndim > 1 || args.n > near_cache_bytes() / step) return Reach::Far;
  return args.n > core_cache_bytes() / 2 / step ? Reach::Shared : Reach::Core;
}

/// How many items are worth a thread of their own, if it is awake. Nanoseconds for each, of 4
/// bytes and one thread with a second-level cache of 2 MiB: sources up to 1 MiB 0.7 to 1.1, of 2
/// and 4 MiB 1.8, of 8 MiB 4.5, of 512 MiB 9. `checked`: threads look at their indices and wait for
/// each other before they gather. That costs more than two threads gain by 1000 items from memory
/// (on a Xeon those took 3.7 us, and on one thread 2.7), but less than by 4096 from caches.
inline std::int64_t gather_grain(const GatherArgs& args, bool checked = false) {
  const Reach reach = reach_of(args);
  // Threads that wait for memory wait at the same time, so less time is worth one more.
  const std::int64_t nanoseconds = reach == Reach::Core             ? 6000
                                   : reach == Reach::Far && checked ? 8000
                                                                    : 4000;
  const std::int64_t each = reach == Reach::Far      ? 8 + args.item / 8
                            : reach == Reach::Shared ? 2 + args.item / 16
                                                     : 1 + args.item / 16;
  return std::max<std::int64_t>(1, nanoseconds / each);
}

/// Items so long that one of them is worth several threads: shared out in pieces.
constexpr std::int64_t kPiece = std::int64_t{64} << 10;

inline bool is_long(const GatherArgs& args) { return args.item >= 2 * kPiece; }

inline std::int64_t pieces_of(const GatherArgs& args) { return (args.item + kPiece - 1) / kPiece; }

/// Whether the indices are to be checked by those who gather by them, for an output that has to
/// stay as it is: each position has an index of its own, and all are worth several threads.
inline bool is_checked_by_threads(const GatherArgs& args) {
  const auto* step = args.loop.stride[kIndex];
  return args.mode == GPUKERN_INDEX_RAISE && !args.out_may_change && !is_long(args) &&
         std::none_of(step, step + args.loop.ndim, [](std::int64_t bytes) { return bytes == 0; }) &&
         threads_for(args.loop.count(), gather_grain(args)) > 1;
}

}  // namespace gpukern::cpu

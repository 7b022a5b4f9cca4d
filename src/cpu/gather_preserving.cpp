// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather into an output that has to stay as it is if an index is bad. Few indices are read once
// only: into a copy in the core's cache, which is checked, then used. Of many, each thread looks at
// those that it is to gather by next, and finds them in its core's cache then.

#include <array>
#include <bit>

#include "src/cpu/backend.hpp"
#include "src/cpu/cache.hpp"
#include "src/cpu/gather_cost.hpp"
#include "src/cpu/gather_items.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/parallel.hpp"

namespace gpukern::cpu {
namespace {

// What the copy has room for. Where as many are worth two threads, these look at all indices before
// they begin.
constexpr std::int64_t kMost = std::int64_t{12} << 10;

/// Whether the indices and the items of a call lie together, and the source in caches near the
/// core: where items are fetched ahead, that is worth more than to read indices once.
bool is_for_copy(const GatherArgs& args) {
  const bool signed_word = args.index_type.is_signed && args.index_type.bytes >= 4;
  return args.mode == GPUKERN_INDEX_RAISE && args.loop.ndim <= 1 && args.loop.count() <= kMost &&
         args.axis.ndim == 1 && signed_word && args.n <= near_cache_bytes() / args.item &&
         std::has_single_bit(static_cast<std::uint64_t>(args.item)) &&
         is_packed(args.item, args.axis.stride[0][0], args.index_type.bytes,
                   run_stride(args.loop, kIndex), run_stride(args.loop, kOut), args.n) &&
         threads_for(args.loop.count(), gather_grain(args)) == 1;
}

/// Moves items by positions in the core's cache, and fetches the next ones' into the first level.
template <class Width>
void move_and_fetch(const std::byte* source, const std::int32_t* position, std::int64_t count,
                    std::byte* out, Width width) {
  constexpr auto kItem = static_cast<std::int64_t>(Width{});
  constexpr std::integral_constant<std::int64_t, kCacheLine / sizeof(std::int32_t)> kLine{};
  constexpr std::int64_t kLinesAhead = 4;
  std::int64_t i = 0;
  for (; i + kLine <= count; i += kLine) {
    prefetch(reinterpret_cast<const std::byte*>(position + i) + kLinesAhead * kCacheLine);
    move_positions(source, position + i, kLine, out + i * kItem, width);
  }
  move_positions(source, position + i, count - i, out + i * kItem, width);
}

bool gather_by_copy(const GatherArgs& args) {
  // Of the thread, since not every thread's stack has room for it.
  thread_local std::array<std::int32_t, kMost> positions;
  const std::int64_t count = args.loop.count();
  const bool good = args.index_type.bytes == 4
                        ? copy_positions<std::int32_t>(args.index, count, args.n, positions.data())
                        : copy_positions<std::int64_t>(args.index, count, args.n, positions.data());
  if (!good) return false;
  visit_width(args.item, [&]<class Width>(Width width) {
    if constexpr (!std::is_same_v<Width, std::size_t>)  // no power of two that is_packed() takes
      move_and_fetch(args.source, positions.data(), count, args.out, width);
  });
  return true;
}

/// The indices by themselves.
IndexArgs indices_of(const GatherArgs& args) {
  IndexArgs indices;  // not as one initializer, for which GCC clears the whole struct first
  indices.index = args.index;
  indices.n = args.n;
  indices.index_type = args.index_type;
  for (int d = 0; d < args.loop.ndim; ++d)
    indices.loop.push(args.loop.extent[d], {args.loop.stride[kIndex][d]});
  indices.loop.coalesce();  // other operands may break what is one run of indices
  return indices;
}

}  // namespace

bool gather_kept(const GatherArgs& args) {
  if (is_for_copy(args)) return gather_by_copy(args);
  return is_checked_by_threads(args) && gather_if_in_bounds(args, indices_of(args));
}

}  // namespace gpukern::cpu

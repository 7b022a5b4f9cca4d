// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather into an output that must not change if an index is bad. A small number of indices is
// copied into the core's cache, checked there and used. Of a larger number, each thread checks the
// part that it gathers by next and then finds it in its core's cache.

#include <array>
#include <bit>

#include "src/cpu/cache.hpp"
#include "src/cpu/gather_cost.hpp"
#include "src/cpu/gather_items.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/long_runs.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

// The capacity of the copy. From a number of indices that justifies two threads, the threads check
// all of them before they gather.
constexpr std::int64_t kMost = std::int64_t{12} << 10;

/// Whether the indices and the items of a call are contiguous and the source fits in the caches
/// near the core. For other sources prefetching gains more than reading the indices once.
bool is_for_copy(const GatherArgs& args) {
  const bool signed_word = args.index_type.is_signed && args.index_type.bytes >= 4;
  return args.tuple == nullptr && args.mode == GPUKERN_INDEX_RAISE && args.loop.ndim <= 1 &&
         !args.moves_both() && args.loop.count() <= kMost && args.axis.ndim == 1 && signed_word &&
         args.n <= near_cache_bytes() / args.item &&
         std::has_single_bit(static_cast<std::uint64_t>(args.item)) &&
         is_packed(args.item, args.axis.stride[0][0], args.index_type.bytes,
                   run_stride(args.loop, kIndex), run_stride(args.loop, kOut), args.n) &&
         threads_for(args.loop.count(), gather_grain(args)) == 1;
}

/// Moves items by positions in the core's cache, prefetching the next positions into the first
/// level.
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
  // Per thread, since the stack of a thread may be too small.
  thread_local std::array<std::int32_t, kMost> positions;
  const std::int64_t count = args.loop.count();
  const bool good = args.index_type.bytes == 4
                        ? copy_positions<std::int32_t>(args.index, count, args.n, positions.data())
                        : copy_positions<std::int64_t>(args.index, count, args.n, positions.data());
  if (!good) return false;
  visit_width(args.item, [&]<class Width>(Width width) {
    if constexpr (!std::is_same_v<Width, std::size_t>)  // is_packed() accepts powers of two only
      move_and_fetch(args.source, positions.data(), count, args.out, width);
  });
  return true;
}

/// The indices of a call without its other operands.
IndexArgs indices_of(const GatherArgs& args) {
  IndexArgs indices;  // one initializer would make GCC clear the whole struct
  indices.index = args.index;
  indices.n = args.n;
  indices.index_type = args.index_type;
  for (int d = 0; d < args.loop.ndim; ++d)
    indices.loop.push(args.loop.extent[d], {args.loop.stride[kIndex][d]});
  indices.loop.coalesce();  // runs of indices may be longer than those of all operands
  return indices;
}

}  // namespace

bool gather_preserving_out(const GatherArgs& args) {
  if (is_for_copy(args)) return gather_by_copy(args);
  return is_checked_by_threads(args) && !has_long_runs(args.loop) &&
         gather_if_in_bounds(args, indices_of(args));
}

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include "src/cpu/axis_offsets.hpp"
#include "src/cpu/gather_cost.hpp"
#include "src/cpu/gather_items.hpp"
#include "src/cpu/gather_rows.hpp"
#include "src/cpu/index_tuple.hpp"
#include "src/cpu/index_types.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/long_runs.hpp"
#include "src/cpu/resolve_run.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_limit.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

// All functions below that return bool return false if mode "raise" rejects an index.

/// The number of the position of a tuple.
std::int64_t position_of(const IndexTuple& tuple, const std::byte* index) {
  return (index - tuple.base) / static_cast<std::int64_t>(sizeof(std::int64_t));
}

/// Finds the offset in the source of what one index refers to, or kMissing.
bool find_item(const GatherArgs& args, ResolveRun resolve, const std::byte* index,
               std::int64_t& offset) {
  if (args.tuple != nullptr)
    return tuple_offsets(*args.tuple, args.mode, position_of(*args.tuple, index), 1, &offset);
  const bool good = resolve(index, 0, 1, args.n, &offset);
  if (offset != kMissing) offset = offset_of(args.axis, offset);
  return good;
}

/// Writes `bytes` bytes of the fill value, starting at byte `phase` of its period.
void fill_item(const GatherArgs& args, std::int64_t fill_offset, std::int64_t phase, std::byte* out,
               std::size_t bytes) {
  if (args.fill_value == nullptr) {
    std::memset(out, 0, bytes);
    return;
  }
  const auto period = static_cast<std::size_t>(args.fill_period);
  const std::byte* value = args.fill_value + fill_offset;
  auto at = static_cast<std::size_t>(phase) % period;
  for (std::size_t done = 0; done < bytes; at = 0) {
    const std::size_t part = std::min(period - at, bytes - done);
    std::memcpy(out + done, value + at, part);
    done += part;
  }
}

using MoveItems = bool (*)(const GatherArgs& args, const ItemRun& run, std::int64_t fill_offset);

template <class Index, bool far, class Width>
bool move_items_of(const GatherArgs& args, const ItemRun& run, std::int64_t fill_offset) {
  Width width{};
  if constexpr (std::is_same_v<Width, std::size_t>) width = static_cast<std::size_t>(args.item);
  const auto fill = [&](std::byte* out) { fill_item(args, fill_offset, 0, out, width); };
  return move_items<Index, far>(run, width, fill);
}

template <class Index, bool far, class Width>
bool move_packed_of(const GatherArgs& args, const ItemRun& run, std::int64_t fill_offset) {
  const auto fill = [&](std::byte* out) { fill_item(args, fill_offset, 0, out, Width{}); };
  return move_packed<Index, far>(run, Width{}, fill, checks_ahead());
}

template <class Index>
bool move_rows_of(const GatherArgs& args, const ItemRun& run, std::int64_t fill_offset) {
  const auto fill = [&](std::byte* out) {
    fill_item(args, fill_offset, 0, out, static_cast<std::size_t>(args.item));
  };
  return move_rows<Index>(run, args.item, fill);
}

/// Whether move_rows() can move the items and they are too many to stay in the caches.
bool are_rows(const GatherArgs& args) {
  return kHasStreamingStores && args.item >= kCacheLine && args.item % kRowUnit == 0 &&
         args.loop.contiguous(kOut, args.item) &&
         reinterpret_cast<std::uintptr_t>(args.out) % kRowUnit == 0 &&
         args.loop.count() > kept_cache_bytes(thread_limit()) / args.item;
}

/// Calls visit with the type that reads the loop's indices: common types directly, others resolved
/// to positions beforehand.
template <class Visit>
void visit_index(const GatherArgs& args, bool resolved, const Visit& visit) {
  auto of_type = [&]<class T>(TypeTag<T>) {
    switch (args.mode) {
      case GPUKERN_INDEX_RAISE:
        return visit(Resolve<T, GPUKERN_INDEX_RAISE>{});
      case GPUKERN_INDEX_WRAP:
        return visit(Resolve<T, GPUKERN_INDEX_WRAP>{});
      case GPUKERN_INDEX_CLIP:
        return visit(Resolve<T, GPUKERN_INDEX_CLIP>{});
      case GPUKERN_INDEX_FILL:
        return visit(Resolve<T, GPUKERN_INDEX_FILL>{});
    }
  };
  if (resolved)
    visit(Resolved{});
  else if (args.index_type.bytes == 4)
    of_type(TypeTag<std::int32_t>{});
  else
    of_type(TypeTag<std::int64_t>{});
}

template <class Width>
constexpr bool kIsShortWidth = false;
template <std::size_t bytes>
constexpr bool kIsShortWidth<std::integral_constant<std::size_t, bytes>> = bytes <= 16;

/// The functions chosen for one call.
struct GatherFunctions {
  explicit GatherFunctions(const GatherArgs& args)
      : resolve(resolve_for(args.index_type, args.mode)),
        resolved(args.tuple != nullptr || args.axis.ndim > 1 || args.moves_both() ||
                 args.index_type.bytes < 4 || !args.index_type.is_signed),
        far(reach_of(args) == Reach::Far) {
    if (args.axis.ndim > 1) axis_offsets.emplace(args.axis);
    const bool packed =
        !resolved && is_packed(args.item, source_step(args), args.index_type.bytes,
                               run_stride(args.loop, kIndex), run_stride(args.loop, kOut), args.n);
    visit_index(args, resolved, [&]<class Index>(Index) {
      visit_width(args.item, [&]<class Width>(Width) {
        move = far ? move_items_of<Index, true, Width> : move_items_of<Index, false, Width>;
        if constexpr (kIsShortWidth<Width>)
          if (packed)
            move = far ? move_packed_of<Index, true, Width> : move_packed_of<Index, false, Width>;
      });
      if (far && are_rows(args)) move = move_rows_of<Index>;
    });
  }

  ResolveRun resolve;
  bool resolved;  ///< indices are first resolved to a block of positions or offsets
  bool far;       ///< items are prefetched
  MoveItems move = nullptr;
  std::optional<AxisOffsets> axis_offsets;  ///< of an axis of several dimensions
};

/// Moves a run along the source's inner dimensions, for which one index is read.
bool copy_run(const GatherArgs& args, const GatherFunctions& functions, const ItemRun& run,
              std::int64_t fill) {
  const std::int64_t source_step = run_stride(args.loop, kSource);
  const std::int64_t fill_step = run_stride(args.loop, kFillValue);
  std::int64_t item = 0;
  const bool good = find_item(args, functions.resolve, run.index, item);
  const std::byte* source = run.source + (item == kMissing ? 0 : item);
  visit_width(args.item, [&](auto width) {
    if (item != kMissing)
      return copy_items(source, source_step, run.out, run.out_step, run.count, width);
    for (std::int64_t i = 0; i < run.count; ++i)
      fill_item(args, fill + i * fill_step, 0, run.out + i * run.out_step, width);
  });
  return good;
}

/// Moves short items by their offsets in the source. `far`: fetches each some items before, since
/// it waits for memory otherwise.
void move_offsets(const ItemRun& given, std::int64_t item, const std::int64_t* offset, bool far) {
  constexpr std::int64_t kAhead = 32;
  const ItemRun run = given;  // a copy that the stores to out cannot alias
  visit_width(item, [&](auto width) {
    const auto move = [=](std::int64_t i) {
      std::memcpy(run.out + i * run.out_step, run.source + offset[i], width);
    };
    std::int64_t i = 0;
    for (; far && i < run.count - kAhead; ++i) {
      prefetch<CacheLevel::Second>(run.source + offset[i + kAhead]);
      move(i);
    }
    for (; i < run.count; ++i) move(i);
  });
}

/// Whether move_offsets() can move the items.
bool have_offsets(const GatherArgs& args) {
  constexpr std::int64_t kShort = 16;
  return args.item <= kShort && args.mode != GPUKERN_INDEX_FILL;
}

/// Moves a run along a tuple of indices, whose offsets are found in blocks.
bool move_tuple(const GatherArgs& args, const GatherFunctions& functions, const ItemRun& given,
                std::int64_t fill) {
  std::array<std::int64_t, kTupleBlock> block;
  const IndexTuple& tuple = *args.tuple;
  const std::int64_t first = position_of(tuple, given.index);
  ItemRun run = given;
  run.source_step = 1;
  run.index = reinterpret_cast<const std::byte*>(block.data());
  bool good = true;
  for (std::int64_t done = 0; done < given.count; done += kTupleBlock) {
    run.count = std::min(kTupleBlock, given.count - done);
    good = tuple_offsets(tuple, args.mode, first + done, run.count, block.data()) && good;
    if (have_offsets(args))
      move_offsets(run, args.item, block.data(), functions.far);
    else
      functions.move(args, run, fill);
    run.out += run.count * run.out_step;
  }
  return good;
}

/// Turns positions into offsets in the source, of items whose first one is at `offset` and that are
/// `stride` bytes apart. Missing ones stay.
void make_offsets(const GatherArgs& args, const GatherFunctions& functions, std::int64_t offset,
                  std::int64_t stride, std::int64_t count, std::int64_t* position) {
  if (functions.axis_offsets) return functions.axis_offsets->make(offset, stride, count, position);
  const std::int64_t step = run_stride(args.axis, 0);
  for (std::int64_t i = 0; i < count; ++i)
    if (args.mode != GPUKERN_INDEX_FILL || position[i] != kMissing)
      position[i] = position[i] * step + offset + i * stride;
}

/// Moves a run along the index, resolving its indices in blocks that stay in the first-level cache.
bool move_resolved(const GatherArgs& args, const GatherFunctions& functions, const ItemRun& given,
                   std::int64_t fill) {
  ItemRun run = given;
  std::array<std::int64_t, 1024> block;
  constexpr std::int64_t kBlock = block.size();
  const std::int64_t index_step = run.index_step;
  const std::int64_t source_stride = run_stride(args.loop, kSource);
  const std::int64_t count = run.count;
  const std::byte* index = run.index;
  run.index = reinterpret_cast<const std::byte*>(block.data());
  run.index_step = sizeof(std::int64_t);
  bool good = true;
  for (std::int64_t done = 0; done < count; done += kBlock) {
    run.count = std::min(kBlock, count - done);
    good =
        functions.resolve(index + done * index_step, index_step, run.count, args.n, block.data()) &&
        good;
    if (args.axis.ndim > 1 || source_stride != 0) {
      run.source_step = 1;
      make_offsets(args, functions, done * source_stride, source_stride, run.count, block.data());
    }
    if (run.source_step == 1 && have_offsets(args))
      move_offsets(run, args.item, block.data(), functions.far);
    else
      functions.move(args, run, fill);
    run.out += run.count * run.out_step;
  }
  return good;
}

bool move_at_once(const GatherArgs& args, const GatherFunctions& functions, const ItemRun& run,
                  std::int64_t fill) {
  return functions.move(args, run, fill);
}

/// Gathers the runs for which each_run(body) calls body(offsets, length).
template <class EachRun>
bool gather_runs(const GatherArgs& args, const GatherFunctions& functions,
                 const EachRun& each_run) {
  const std::int64_t index_step = run_stride(args.loop, kIndex);
  const std::int64_t out_step = run_stride(args.loop, kOut);
  bool good = true;
  each_run([&](const auto& offset, std::int64_t length) {
    const ItemRun run{args.source + offset[kSource],
                      source_step(args),
                      args.index + offset[kIndex],
                      index_step,
                      args.out + offset[kOut],
                      out_step,
                      length,
                      args.n};
    const auto way = index_step == 0         ? copy_run
                     : args.tuple != nullptr ? move_tuple
                     : functions.resolved    ? move_resolved
                                             : move_at_once;
    good = way(args, functions, run, offset[kFillValue]) && good;
  });
  return good;
}

bool gather_range(const GatherArgs& args, const GatherFunctions& functions, std::int64_t begin,
                  std::int64_t end) {
  return gather_runs(args, functions,
                     [&](const auto& body) { for_each_run(args.loop, begin, end, body); });
}

bool gather_long_items(const GatherArgs& args, ResolveRun resolve, std::int64_t begin,
                       std::int64_t end) {
  const std::int64_t pieces = pieces_of(args);
  bool good = true;
  for (std::int64_t p = begin; p < end; ++p) {
    const std::int64_t at = p % pieces * kPiece;
    const auto bytes = static_cast<std::size_t>(std::min(kPiece, args.item - at));
    for_each_run(args.loop, p / pieces, p / pieces + 1, [&](const auto& offset, std::int64_t) {
      std::int64_t item = 0;
      good = find_item(args, resolve, args.index + offset[kIndex], item) && good;
      std::byte* out = args.out + offset[kOut] + at;
      const std::byte* source = args.source + offset[kSource] + at;
      if (item == kMissing)
        fill_item(args, offset[kFillValue], at, out, bytes);
      else
        std::memcpy(out, source + item, bytes);
    });
  }
  return good;
}

/// Gathers parts concurrently.
template <class Part>
bool gather_parts(std::int64_t count, std::int64_t grain, const Part& part) {
  std::atomic<bool> good{true};
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    if (!part(begin, end)) good.store(false, std::memory_order_relaxed);
  });
  return good.load(std::memory_order_relaxed);
}

bool gather_long_runs(const GatherArgs& given) {
  GatherArgs args = given;
  const LongRuns runs(args.loop);
  const GatherFunctions functions(args);
  return gather_parts(
      runs.count(), runs.blocks_of(gather_grain(given)), [&](std::int64_t begin, std::int64_t end) {
        return gather_runs(args, functions,
                           [&](const auto& body) { runs.for_each(begin, end, body); });
      });
}

/// Whether to copy a source of several dimensions along the axis first, so that positions are
/// offsets: there are more items to gather than in the source, which the near caches hold.
bool is_worth_packing(const GatherArgs& args) {
  const auto* step = args.loop.stride[kSource];
  return args.axis.ndim > 1 && args.tuple == nullptr && args.loop.count() >= args.n &&
         args.n <= near_cache_bytes() / args.item &&
         std::all_of(step, step + args.loop.ndim, [](std::int64_t bytes) { return bytes == 0; });
}

/// Calls gather(args) with the source copied to one dimension.
template <class Gather>
bool gather_packed(const GatherArgs& args, const Gather& gather) {
  const auto memory =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(args.n * args.item));
  CopyArgs copied{args.source, memory.get(), args.item, {}};
  std::int64_t step = args.n * args.item;
  for (int d = 0; d < args.axis.ndim; ++d) {
    step /= args.axis.extent[d];
    copied.loop.push(args.axis.extent[d], {args.axis.stride[0][d], step});
  }
  copy(copied);
  GatherArgs packed = args;
  packed.source = memory.get();
  packed.axis = {};
  packed.axis.push(args.n, {args.item});
  return gather(packed);
}

}  // namespace

bool gather(const GatherArgs& args) {
  if (is_worth_packing(args))
    return gather_packed(args, [](const GatherArgs& packed) { return gather(packed); });
  if (is_long(args)) {
    const ResolveRun resolve = resolve_for(args.index_type, args.mode);
    return gather_parts(args.loop.count() * pieces_of(args), 1,
                        [&](std::int64_t begin, std::int64_t end) {
                          return gather_long_items(args, resolve, begin, end);
                        });
  }
  if (args.tuple == nullptr && has_long_runs(args.loop)) return gather_long_runs(args);
  const GatherFunctions functions(args);
  return gather_parts(args.loop.count(), gather_grain(args),
                      [&](std::int64_t begin, std::int64_t end) {
                        return gather_range(args, functions, begin, end);
                      });
}

bool gather_if_in_bounds(const GatherArgs& args, const IndexArgs& indices) {
  if (is_worth_packing(args))
    return gather_packed(
        args, [&](const GatherArgs& packed) { return gather_if_in_bounds(packed, indices); });
  const GatherFunctions functions(args);
  std::atomic<bool> good{true};  // cleared if another thread changes the indices during the call
  auto check = [&](std::int64_t begin, std::int64_t end) {
    return args.tuple != nullptr ? all_in_bounds(*args.tuple, begin, end)
                                 : all_in_bounds(indices, begin, end);
  };
  auto move = [&](std::int64_t begin, std::int64_t end) {
    if (!gather_range(args, functions, begin, end)) good.store(false, std::memory_order_relaxed);
  };
  return parallel_for_if_all(args.loop.count(), gather_grain(args, true), check, move) &&
         good.load(std::memory_order_relaxed);
}

Strategy gather_strategy(const GatherArgs& args) {
  constexpr std::int64_t kOneAccess = 16;
  const std::int64_t count = args.loop.count();
  return {.path = args.item <= kOneAccess ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS,
          .threads = is_long(args)
                         ? threads_for(count * pieces_of(args), 1)
                         : threads_for(count, gather_grain(args, is_checked_by_threads(args)))};
}

}  // namespace gpukern::cpu

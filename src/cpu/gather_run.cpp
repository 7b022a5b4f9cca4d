// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/gather_run.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "src/cpu/gather_cost.hpp"
#include "src/cpu/gather_rows.hpp"
#include "src/cpu/index_tuple.hpp"
#include "src/cpu/index_types.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_limit.hpp"

namespace gpukern::cpu {
namespace {

/// The number of the position of a tuple.
std::int64_t position_of(const IndexTuple& tuple, const std::byte* index) {
  return (index - tuple.base) / static_cast<std::int64_t>(sizeof(std::int64_t));
}

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

/// Moves a run along the source's inner dimensions, for which one index is read.
bool copy_run(const GatherArgs& args, const GatherFunctions& functions, const ItemRun& run,
              std::int64_t fill) {
  const std::int64_t source_step = run_stride(args.loop, kSource);
  const std::int64_t fill_step = run_stride(args.loop, kFillValue);
  std::int64_t item = 0;
  const bool good = find_item(args, functions.resolve, run.index, item);
  const std::byte* source = run.source + (item == kNoPosition ? 0 : item);
  visit_width(args.item, [&](auto width) {
    if (item != kNoPosition)
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
    if (args.mode != GPUKERN_INDEX_FILL || position[i] != kNoPosition)
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

}  // namespace

GatherFunctions::GatherFunctions(const GatherArgs& args)
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

bool gather_run(const GatherArgs& args, const GatherFunctions& functions, const ItemRun& run,
                std::int64_t fill_offset) {
  if (run.index_step == 0) return copy_run(args, functions, run, fill_offset);
  if (args.tuple != nullptr) return move_tuple(args, functions, run, fill_offset);
  if (functions.resolved) return move_resolved(args, functions, run, fill_offset);
  return functions.move(args, run, fill_offset);
}

bool find_item(const GatherArgs& args, ResolveRun resolve, const std::byte* index,
               std::int64_t& offset) {
  if (args.tuple != nullptr)
    return tuple_offsets(*args.tuple, args.mode, position_of(*args.tuple, index), 1, &offset);
  const bool good = resolve(index, 0, 1, args.n, &offset);
  if (offset != kNoPosition) offset = offset_of(args.axis, offset);
  return good;
}

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

}  // namespace gpukern::cpu

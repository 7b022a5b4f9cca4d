// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "../dtype.hpp"
#include "backend.hpp"
#include "parallel.hpp"
#include "runs.hpp"

namespace gpukern::cpu {
namespace {

// Positions are resolved in blocks that stay in the first-level cache, then items are moved.
constexpr std::int64_t kBlock = 512;
using Block = std::array<std::int64_t, kBlock>;

template <class Visit>
void visit_index_type(IndexType type, const Visit& visit) {
  switch (type.bytes * 2 + (type.is_signed ? 1 : 0)) {
    case 2:
      return visit(TypeTag<std::uint8_t>{});
    case 3:
      return visit(TypeTag<std::int8_t>{});
    case 4:
      return visit(TypeTag<std::uint16_t>{});
    case 5:
      return visit(TypeTag<std::int16_t>{});
    case 8:
      return visit(TypeTag<std::uint32_t>{});
    case 9:
      return visit(TypeTag<std::int32_t>{});
    case 16:
      return visit(TypeTag<std::uint64_t>{});
    default:
      return visit(TypeTag<std::int64_t>{});
  }
}

/// Reads an index that need not be aligned.
template <class T>
std::int64_t load(const std::byte* index) {
  T value;
  std::memcpy(&value, index, sizeof(T));
  return static_cast<std::int64_t>(value);
}

/// Fills `position` with what the indices of a run stand for.
using Resolve = void (*)(const std::byte* index, std::int64_t step, std::int64_t count,
                         std::int64_t n, std::int64_t* position);

template <class T, gpukern_mode mode>
void resolve(const std::byte* index, std::int64_t step, std::int64_t count, std::int64_t n,
             std::int64_t* position) {
  for (std::int64_t i = 0; i < count; ++i)
    position[i] = resolve_index(mode, load<T>(index + i * step), std::is_signed_v<T>, n);
}

Resolve resolve_for(IndexType type, gpukern_mode mode) {
  Resolve chosen = nullptr;
  visit_index_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    static constexpr std::array<Resolve, 4> by_mode{
        resolve<T, GPUKERN_RAISE>, resolve<T, GPUKERN_WRAP>, resolve<T, GPUKERN_CLIP>,
        resolve<T, GPUKERN_FILL>};
    chosen = by_mode[static_cast<std::size_t>(mode)];
  });
  return chosen;
}

/// The source's byte offset of a position on the axis, for an axis of any number of dimensions.
std::int64_t axis_offset(const Loop<1>& axis, std::int64_t position) {
  std::int64_t offset = 0;
  for (int d = axis.ndim - 1; d > 0; --d) {
    offset += position % axis.extent[d] * axis.stride[0][d];
    position /= axis.extent[d];
  }
  return axis.ndim > 0 ? offset + position * axis.stride[0][0] : 0;
}

/// Writes `bytes` bytes of the fill value, from byte `phase` of its period on.
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

/// One run of positions: its operands' addresses and steps.
struct Run {
  const std::byte* source;
  const std::byte* index;
  std::byte* out;
  std::int64_t fill;
  std::int64_t length;
};

struct Steps {
  std::int64_t source;
  std::int64_t index;
  std::int64_t out;
  std::int64_t fill;
};

/// A run along the source's inner dimensions: one index for all.
template <class Width>
void copy_run(const GatherArgs& args, const Steps& step, const Run& run, std::int64_t position,
              Width width) {
  const std::byte* source = position < 0 ? nullptr : run.source + axis_offset(args.axis, position);
  for (std::int64_t i = 0; i < run.length; ++i) {
    std::byte* out = run.out + i * step.out;
    if (source != nullptr)
      std::memcpy(out, source + i * step.source, width);
    else
      fill_item(args, run.fill + i * step.fill, 0, out, width);
  }
}

/// A run along the index; `offset_of` gives the source's byte offset of a position.
template <class Width, class OffsetOf>
void move_items(const GatherArgs& args, std::int64_t out_step, const Run& run,
                const std::int64_t* position, Width width, const OffsetOf& offset_of) {
  // Far enough ahead for memory to answer; items that lie in a cache do not mind.
  constexpr std::int64_t kAhead = 24;
  const std::int64_t ahead = std::max<std::int64_t>(0, run.length - kAhead);
  auto move = [&](std::int64_t i) {
    std::byte* out = run.out + i * out_step;
    if (position[i] < 0)
      fill_item(args, run.fill, 0, out, width);
    else
      std::memcpy(out, run.source + offset_of(position[i]), width);
  };
  for (std::int64_t i = 0; i < ahead; ++i) {
    __builtin_prefetch(run.source + offset_of(std::max<std::int64_t>(0, position[i + kAhead])));
    move(i);
  }
  for (std::int64_t i = ahead; i < run.length; ++i) move(i);
}

template <class Width>
void gather_run(const GatherArgs& args, const Steps& step, const Run& run, const Block& position,
                Width width) {
  const std::int64_t axis_step = args.axis.ndim == 1 ? args.axis.stride[0][0] : 0;
  if (args.axis.ndim <= 1)
    move_items(args, step.out, run, position.data(), width,
               [axis_step](std::int64_t at) { return at * axis_step; });
  else
    move_items(args, step.out, run, position.data(), width,
               [&args](std::int64_t at) { return axis_offset(args.axis, at); });
}

template <class Width>
void gather_range(const GatherArgs& args, Resolve resolve, std::int64_t begin, std::int64_t end,
                  Width width) {
  const Steps step{run_stride(args.loop, kSource), run_stride(args.loop, kIndex),
                   run_stride(args.loop, kOut), run_stride(args.loop, kFillValue)};
  Block position;
  for_each_run(args.loop, begin, end, [&](const auto& offset, std::int64_t length) {
    Run run{args.source + offset[kSource], args.index + offset[kIndex], args.out + offset[kOut],
            offset[kFillValue], length};
    if (step.index == 0) {
      resolve(run.index, 0, 1, args.n, position.data());
      copy_run(args, step, run, position[0], width);
      return;
    }
    for (std::int64_t done = 0; done < length; done += kBlock) {
      run.length = std::min(kBlock, length - done);
      resolve(run.index, step.index, run.length, args.n, position.data());
      gather_run(args, step, run, position, width);
      run.index += run.length * step.index;
      run.out += run.length * step.out;
    }
  });
}

/// Items so long that one of them is worth several threads: shared out in pieces.
constexpr std::int64_t kPiece = std::int64_t{64} << 10;

bool is_long(std::int64_t item) { return item >= 2 * kPiece; }

std::int64_t pieces_of(std::int64_t item) { return (item + kPiece - 1) / kPiece; }

void gather_long_items(const GatherArgs& args, Resolve resolve) {
  const std::int64_t pieces = pieces_of(args.item);
  parallel_for(args.loop.count() * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t at = p % pieces * kPiece;
      const auto bytes = static_cast<std::size_t>(std::min(kPiece, args.item - at));
      for_each_run(args.loop, p / pieces, p / pieces + 1, [&](const auto& offset, std::int64_t) {
        std::int64_t position = 0;
        resolve(args.index + offset[kIndex], 0, 1, args.n, &position);
        std::byte* out = args.out + offset[kOut] + at;
        const std::byte* source = args.source + offset[kSource] + at;
        if (position < 0)
          fill_item(args, offset[kFillValue], at, out, bytes);
        else
          std::memcpy(out, source + axis_offset(args.axis, position), bytes);
      });
    }
  });
}

}  // namespace

void gather(const GatherArgs& args) {
  const Resolve resolve = resolve_for(args.index_type, args.mode);
  if (is_long(args.item)) {
    gather_long_items(args, resolve);
    return;
  }
  parallel_for(args.loop.count(), grain_of(args.item), [&](std::int64_t begin, std::int64_t end) {
    visit_width(args.item, [&](auto width) { gather_range(args, resolve, begin, end, width); });
  });
}

int gather_threads(const GatherArgs& args) {
  const std::int64_t count = args.loop.count();
  return is_long(args.item) ? threads_for(count * pieces_of(args.item), 1)
                            : threads_for(count, grain_of(args.item));
}

std::optional<BadIndex> first_bad_index(const IndexArgs& args) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first{kNone};
  std::int64_t value = 0;
  const std::int64_t step = run_stride(args.loop, 0);
  visit_index_type(args.index_type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto good = [&](const std::byte* index) {
      return in_bounds(load<T>(index), std::is_signed_v<T>, args.n);
    };
    auto scan = [&](std::int64_t begin, std::int64_t end) {
      std::int64_t position = begin;
      for_each_run(args.loop, begin, end, [&](const auto& offset, std::int64_t length) {
        const std::byte* index = args.index + offset[0];
        // A block at a time, without a way out of its loop, so that it vectorises.
        for (std::int64_t done = 0; done < length && position + done < first.load();
             done += kBlock) {
          const std::int64_t stop = std::min(done + kBlock, length);
          bool all = true;
          for (std::int64_t i = done; i < stop; ++i) all &= good(index + i * step);
          if (all) continue;
          std::int64_t bad = done;
          while (bad + 1 < stop && good(index + bad * step)) ++bad;
          std::int64_t seen = first.load();
          while (position + bad < seen && !first.compare_exchange_weak(seen, position + bad)) {
          }
          break;
        }
        position += length;
      });
    };
    parallel_for(args.loop.count(), grain_of(args.index_type.bytes), scan);
    const std::int64_t bad = first.load();
    if (bad == kNone) return;
    for_each_run(args.loop, bad, bad + 1, [&](const auto& offset, std::int64_t) {
      value = load<T>(args.index + offset[0]);
    });
  });
  if (first.load() == kNone) return std::nullopt;
  return BadIndex{value};
}

}  // namespace gpukern::cpu

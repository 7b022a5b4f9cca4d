// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/cpu/axis_offsets.hpp"
#include "src/cpu/isa.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/stop.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

/// Elements of the mask that are counted together, and then selected together.
constexpr std::int64_t kPart = std::int64_t{1} << 14;
/// Parts that justify a thread.
constexpr std::int64_t kGrain = 4;
/// Elements whose test precedes the moves.
constexpr std::int64_t kBlock = 512;

struct Pair {
  std::uint64_t low;
  std::uint64_t high;
};

template <class W>
bool is_nonzero(const std::byte* at, std::uint64_t bits) {
  W value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (sizeof(W) == 16)
    return ((value.low | value.high) & bits) != 0;
  else
    return (value & static_cast<W>(bits)) != 0;
}

/// Calls visit(W{}) with the type as which an element of the mask is loaded.
template <class Visit>
void visit_mask_word(std::int64_t item, const Visit& visit) {
  switch (item) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    case 8:
      return visit(std::uint64_t{});
    default:
      return visit(Pair{});
  }
}

/// Elements that are counted in a number of their width, which vectors of them hold.
constexpr std::int64_t kCounted = 240;

template <class W>
[[gnu::always_inline]] inline std::int64_t count_block(const std::byte* mask, std::int64_t step,
                                                       std::int64_t length, std::uint64_t bits) {
  std::conditional_t<sizeof(W) == 16, std::uint64_t, W> count = 0;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < length; ++i) count += is_nonzero<W>(mask + i * step, bits);
  return static_cast<std::int64_t>(count);
}

template <class W>
std::int64_t count_row_baseline(const std::byte* mask, std::int64_t length, std::uint64_t bits) {
  return count_block<W>(mask, sizeof(W), length, bits);
}
#ifdef GPUKERN_X86
template <class W>
[[gnu::target("avx2")]] std::int64_t count_row_avx2(const std::byte* mask, std::int64_t length,
                                                    std::uint64_t bits) {
  return count_block<W>(mask, sizeof(W), length, bits);
}
#endif

/// Of contiguous elements: a constant step is vectorized.
template <class W>
std::int64_t count_row(const std::byte* mask, std::int64_t length, std::uint64_t bits) {
#ifdef GPUKERN_X86
  if (widest_isa() >= Isa::Avx2) return count_row_avx2<W>(mask, length, bits);
#endif
  return count_row_baseline<W>(mask, length, bits);
}

/// The number of nonzero elements at positions [begin, end).
template <class W>
std::int64_t count_part(const SelectArgs& args, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kItem = sizeof(W);
  const std::int64_t step = run_stride(args.loop, 0);
  std::int64_t count = 0;
  for_each_run(args.loop, begin, end, [&](const auto& offset, std::int64_t length) {
    for (std::int64_t done = 0; done < length; done += kCounted) {
      const std::byte* const mask = args.mask + offset[0] + done * step;
      const std::int64_t tested = std::min(kCounted, length - done);
      if (step == kItem)
        count += count_row<W>(mask, tested, args.bits);
      else if (step == -kItem)
        count += count_row<W>(mask + (tested - 1) * step, tested, args.bits);
      else
        count += count_block<W>(mask, step, tested, args.bits);
    }
  });
  return count;
}

/// As select_part() for cheap moves: moves each element until the place `last`, and advances where
/// it is nonzero. A branch on the mask would be mispredicted. Inlined, it lacks registers. The
/// steps may be constants.
template <class W, class MaskStep, class Move, class Step>
[[gnu::noinline]] std::int64_t move_all(const std::byte* mask, MaskStep mask_step,
                                        std::int64_t length, std::uint64_t bits,
                                        std::int64_t position, std::int64_t k, std::int64_t last,
                                        Move move, Step step) {
  constexpr std::int64_t kTogether = 8;  // before the next look at `last`
  std::int64_t i = 0;
  for (; i + kTogether <= length && k + kTogether <= last; i += kTogether)
#pragma GCC unroll 8
    for (std::int64_t j = i; j < i + kTogether; ++j) {
      move.to(k * step, position + j);
      k += is_nonzero<W>(mask + j * mask_step, bits);
    }
  for (; i < length && k < last; ++i) {
    move.to(k * step, position + i);
    k += is_nonzero<W>(mask + i * mask_step, bits);
  }
  return k;
}

/// Writes the positions of the nonzero bytes to `found`, and returns their number. Skips zeros.
inline std::int64_t find_few(const std::byte* mask, std::int64_t length, std::uint64_t bits,
                             std::int32_t* found) {
  constexpr std::int64_t kWord = 8;
  const std::uint64_t all = (bits & 0xff) * 0x0101010101010101U;
  std::int64_t count = 0;
  std::int64_t i = 0;
  for (; i + kWord <= length; i += kWord) {
    std::uint64_t word;
    std::memcpy(&word, mask + i, sizeof word);
    if ((word & all) == 0) continue;
    for (std::int64_t j = i; j < i + kWord; ++j) {
      found[count] = static_cast<std::int32_t>(j);
      count += is_nonzero<std::uint8_t>(mask + j, bits);
    }
  }
  for (; i < length; ++i) {
    found[count] = static_cast<std::int32_t>(i);
    count += is_nonzero<std::uint8_t>(mask + i, bits);
  }
  return count;
}

/// The positions [begin, end), whose nonzero elements have the places [first, last) in the output.
struct Part {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t first;
  std::int64_t last;

  /// Whether it pays to skip zeros.
  [[nodiscard]] bool has_few() const { return (last - first) * 16 < end - begin; }
};

/// Writes the fill value to the places [begin, end) of the output.
void fill(const SelectArgs& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t columns = args.source == nullptr ? args.coordinates.ndim : 1;
  for (std::int64_t k = begin; k < end; ++k)
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t at = args.source == nullptr ? args.coordinates.stride[0][c] : 0;
      std::memcpy(args.out + k * args.step + at, args.fill, static_cast<std::size_t>(args.width));
    }
}

/// Moves what belongs to the nonzero elements of a part. Another thread may change the mask
/// meanwhile: the places of elements that have become zero get the fill value.
template <class W, class Move>
void select_part(const SelectArgs& args, const Part& part, Move move) {
  const std::int64_t step = run_stride(args.loop, 0);
  std::int64_t position = part.begin;
  std::int64_t k = part.first;
  for_each_run(args.loop, part.begin, part.end, [&](const auto& offset, std::int64_t length) {
    for (std::int64_t done = 0; done < length && k < part.last; done += kBlock) {
      const std::byte* const mask = args.mask + offset[0] + done * step;
      const std::int64_t tested = std::min(kBlock, length - done);
      const bool is_dense = step == std::int64_t{sizeof(W)};
      if constexpr (Move::kIsCheap)
        if (!part.has_few()) {
          const std::integral_constant<std::int64_t, Move::kBytes> contiguous;
          const auto move_to = [&](auto mask_step, auto step_of_out) {
            return move_all<W>(mask, mask_step, tested, args.bits, position + done, k, part.last,
                               move, step_of_out);
          };
          if (args.step != contiguous)
            k = move_to(step, args.step);
          else if (is_dense)
            k = move_to(std::integral_constant<std::int64_t, sizeof(W)>(), contiguous);
          else
            k = move_to(step, contiguous);
          continue;
        }
      std::int32_t found[kBlock];
      std::int64_t count = 0;
      if (sizeof(W) == 1 && is_dense && part.has_few()) {
        count = find_few(mask, tested, args.bits, found);
      } else {
        for (std::int64_t i = 0; i < tested; ++i) {  // without a branch
          found[count] = static_cast<std::int32_t>(i);
          count += is_nonzero<W>(mask + i * step, args.bits);
        }
      }
      count = std::min(count, part.last - k);
      for (std::int64_t j = 0; j < count; ++j)
        move.to((k + j) * args.step, position + done + found[j]);
      k += count;
    }
    position += length;
  });
  fill(args, k, part.last);
}

template <std::size_t kWidth>
class MoveItem {
 public:
  static constexpr bool kIsCheap = true;  ///< cheaper than a branch
  static constexpr auto kBytes = static_cast<std::int64_t>(kWidth);
  explicit MoveItem(const SelectArgs& args) : source_(args.source), out_(args.out) {}
  void to(std::int64_t at, std::int64_t position) const {
    std::memcpy(out_ + at, source_ + position * kBytes, kWidth);
  }

 private:
  const std::byte* source_;
  std::byte* out_;
};

/// An item of a source that is not contiguous.
template <std::size_t kWidth>
class MoveStridedItem {
 public:
  static constexpr bool kIsCheap = false;
  explicit MoveStridedItem(const SelectArgs& args)
      : source_(args.source), out_(args.out), step_(run_stride(args.items, 0)) {
    if (args.items.ndim > 1) offsets_.emplace(args.items);
  }
  void to(std::int64_t at, std::int64_t position) const {
    std::int64_t offset = position;
    if (offsets_)
      offsets_->make(0, 0, 1, &offset);
    else
      offset *= step_;
    std::memcpy(out_ + at, source_ + offset, kWidth);
  }

 private:
  const std::byte* source_;
  std::byte* out_;
  std::int64_t step_;
  std::optional<AxisOffsets> offsets_;  ///< of several dimensions
};

/// The only coordinate.
class WritePosition {
 public:
  static constexpr bool kIsCheap = true;
  static constexpr std::int64_t kBytes = 8;
  explicit WritePosition(const SelectArgs& args) : first_(args.first), out_(args.out) {}
  void to(std::int64_t at, std::int64_t position) const {
    position += first_;
    std::memcpy(out_ + at, &position, sizeof position);
  }

 private:
  std::int64_t first_;
  std::byte* out_;
};

/// Positions rise: all but the last coordinate are kept for a row.
class WriteCoordinates {
 public:
  static constexpr bool kIsCheap = false;
  explicit WriteCoordinates(const SelectArgs& args)
      : args_(args), last_(args.coordinates.ndim - 1) {}
  void to(std::int64_t at, std::int64_t position) {
    const Loop<1>& loop = args_.coordinates;
    position += args_.first;
    if (position >= end_) enter_row(position);
    std::byte* const out = args_.out + at;
    for (int d = 0; d < last_; ++d) store(out + loop.stride[0][d], at_[d]);
    store(out + loop.stride[0][last_], position - begin_);
  }

 private:
  static void store(std::byte* to, std::int64_t value) { std::memcpy(to, &value, sizeof value); }
  void enter_row(std::int64_t position) {
    const Loop<1>& loop = args_.coordinates;
    std::int64_t row = position / loop.extent[last_];
    begin_ = row * loop.extent[last_];
    end_ = begin_ + loop.extent[last_];
    for (int d = last_ - 1; d >= 0; --d) {
      at_[d] = row % loop.extent[d];
      row /= loop.extent[d];
    }
  }

  const SelectArgs& args_;
  int last_;
  std::int64_t begin_ = 0;  // of the row
  std::int64_t end_ = 0;
  std::int64_t at_[GPUKERN_MAX_NDIM];  // NOLINT(*-member-init): set for the dimensions in use
};

/// Calls visit(move) with what moves an item or writes the coordinates of one element.
template <class Visit>
void visit_move(const SelectArgs& args, const Visit& visit) {
  if (args.source == nullptr)
    return args.coordinates.ndim == 1 ? visit(WritePosition(args)) : visit(WriteCoordinates(args));
  visit_width(args.width, [&](auto width) {
    if constexpr (!std::is_same_v<decltype(width), std::size_t>)
      if constexpr (width() <= 16) {
        if (args.items.contiguous(0, args.width))
          visit(MoveItem<width()>(args));
        else
          visit(MoveStridedItem<width()>(args));
      }
  });
}

void pad(const SelectArgs& args, std::int64_t begin) {
  const std::int64_t columns = args.source == nullptr ? args.coordinates.ndim : 1;
  parallel_for(
      args.size - begin, grain_of(args.width * columns),
      [&](std::int64_t first, std::int64_t last) { fill(args, begin + first, begin + last); });
}

std::int64_t parts_of(const SelectArgs& args) { return (args.loop.count() + kPart - 1) / kPart; }

/// Calls body(k, begin, end) for the positions of each part k.
template <class Body>
void each_part(const SelectArgs& args, const Body& body) {
  const std::int64_t total = args.loop.count();
  parallel_for(parts_of(args), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end && !is_stopped(); ++part)
      body(part, part * kPart, std::min(total, (part + 1) * kPart));
  });
}

}  // namespace

std::int64_t count_nonzero(const SelectArgs& args) {
  std::atomic<std::int64_t> count{0};
  visit_mask_word(args.item, [&]<class W>(W) {
    each_part(args, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      count.fetch_add(count_part<W>(args, begin, end), std::memory_order_relaxed);
    });
  });
  return count.load();
}

void select(const SelectArgs& args) {
  const std::int64_t total = args.loop.count();
  const std::int64_t parts = parts_of(args);
  std::int64_t selected = 0;
  visit_mask_word(args.item, [&]<class W>(W) {
    if (total == 0) return;               // no loop over positions
    if (threads_for(parts, kGrain) == 1)  // counted part by part
      return visit_move(args, [&](auto move) {
        for (std::int64_t begin = 0; begin < total && selected < args.size && !is_stopped();
             begin += kPart) {
          const std::int64_t end = std::min(begin + kPart, total);
          const std::int64_t last = selected + count_part<W>(args, begin, end);
          select_part<W>(args, {begin, end, selected, std::min(last, args.size)}, move);
          selected = last;
        }
      });
    // The number of nonzero elements in each part, then before it.
    std::vector<std::int64_t> before(static_cast<std::size_t>(parts + 1));
    each_part(args, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      before[static_cast<std::size_t>(part)] = count_part<W>(args, begin, end);
    });
    for (std::int64_t& count : before) selected += std::exchange(count, selected);
    visit_move(args, [&](const auto& move) {
      each_part(args, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        const std::int64_t* const first = before.data() + part;
        select_part<W>(args, {begin, end, first[0], std::min(first[1], args.size)}, move);
      });
    });
  });
  if (!is_stopped()) pad(args, std::min(selected, args.size));
}

Strategy select_strategy(const SelectArgs& args) {
  return {.path = GPUKERN_PATH_ITEMS, .threads = threads_for(parts_of(args), kGrain)};
}

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <optional>

#include "cuda/runtime/kernels.hpp"
#include "cuda/scatter/hashed.cuh"
#include "cuda/scatter/scatter.cuh"
#include "cuda/scatter/tiles.cuh"
#include "cuda/scatter/update_lines.cuh"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

struct Scratch {
  std::byte* keys;
  std::byte* payload;  ///< nullptr: the values
  // Of updates that are not sorted already.
  std::byte* sorted_keys;
  std::byte* sorted_payload;
  std::byte* sort;
  std::size_t sort_bytes;
  TileScratch tiles;
  LongKeys long_keys;
  KeyBlocks key_blocks;
  Slices slices;
};

/// Whether the values of a call are short and can move with 32-bit keys.
bool moves_values(const ScatterCall& call, bool wide_keys) {
  return !wide_keys && call.columns == 1 &&
         std::has_single_bit(static_cast<std::uint64_t>(call.args.item)) && call.args.item <= 8;
}

/// Whether updates by number are sorted by tiles. Fewer are combined faster by a hash table.
bool sorts_tiles(const ScatterCall& call) {
  constexpr std::int64_t kFrom = 96 << 10;
  return call.count >= kFrom && call.args.reduce != GPUKERN_REDUCE_NONE && !call.args.sorted &&
         !is_across(call) && !has_wide_keys(call) && !moves_values(call, false) &&
         fits_tiles(call, sizeof(std::uint32_t));
}

SortPlan sort_plan(const ScatterCall& call) {
  const auto keys = static_cast<std::uint64_t>(call.args.keys.count());
  SortPlan plan{};
  plan.wide_keys = has_wide_keys(call);
  plan.moves_values = moves_values(call, plan.wide_keys);
  plan.is_across = is_across(call);
  plan.by_tiles = sorts_tiles(call);
  if (plan.by_tiles) plan.spread = tile_spread(call);
  const bool wide_payload = plan.moves_values ? call.args.item == 8 : plan.wide_keys;
  plan.payload_bytes = wide_payload ? 8 : 4;
  // Keys end at `keys`, which stands for updates that are skipped.
  const bool skips = call.args.mode == GPUKERN_INDEX_FILL;
  plan.bits = std::bit_width(skips ? keys : keys - 1);
  if (plan.moves_values && !call.args.sorted)
    plan.slice_bits = slice_bits(call.count, plan.bits, most_slice_bits(plan.payload_bytes));
  return plan;
}

/// whether the values are stored as the sort reads them.
bool sorts_in_place(const ScatterCall& call, const SortPlan& plan) {
  const ScatterArgs& args = call.args;
  const Loop<3>& updates = args.updates;
  return plan.moves_values && args.item == plan.payload_bytes && updates.ndim == 1 &&
         updates.stride[kUpdateValue][0] == args.item && alignment_of(args.values) >= args.item;
}

/// The number of blocks of values that have the full length, at most.
std::int64_t blocks_of(const ScatterCall& call) { return ceil_divide(call.count, kBlockValues); }

Slices lay_out_slices(ScratchLayout& layout, const ScatterCall& call, const SortPlan& plan) {
  Slices slices{};
  if (plan.slice_bits == 0) return slices;
  slices.bits = plan.slice_bits;
  slices.count = std::int64_t{1} << (plan.bits - plan.slice_bits);
  slices.starts = layout.take<std::uint32_t>(slices.count + 1);
  slices.ends = slices.starts == nullptr ? nullptr : slices.starts + 1;
  // Short chunks have a large table of counts; of long ones, the lines that the running thread
  // blocks write to exceed the L2 cache.
  constexpr std::int64_t kManyUpdates = 1 << 25;
  slices.chunk = call.count >= kManyUpdates ? 8192 : 4096;
  const std::int64_t chunks = 2 * ceil_divide(call.count, slices.chunk);
  slices.number = layout.take<unsigned>(Slices::kLists);
  slices.chunks = layout.take<SliceChunk>(chunks);
  slices.only_chunks =
      layout.take<SliceChunk>(std::min(slices.count, ceil_divide(call.count, kBlockValues)));
  slices.heads = layout.take<std::uint32_t>(ceil_divide(call.count, slices.chunk));
  slices.counts = layout.take<std::uint32_t>(chunks << slices.bits);
  return slices;
}

Scratch lay_out(ScratchLayout& layout, const ScatterCall& call, const SortPlan& plan) {
  const std::int64_t key_bytes = plan.wide_keys ? 8 : 4;
  const bool reduces = call.args.reduce != GPUKERN_REDUCE_NONE;
  Scratch scratch{};
  scratch.keys = layout.take(call.count, key_bytes);
  if (!sorts_in_place(call, plan)) scratch.payload = layout.take(call.count, plan.payload_bytes);
  if (!call.args.sorted) {
    scratch.sorted_keys = layout.take(call.count, key_bytes);
    scratch.sorted_payload = layout.take(call.count, plan.payload_bytes);
    if (plan.by_tiles)
      scratch.tiles = lay_out_tiles(layout, call, plan.payload_bytes);
    else
      scratch.sort_bytes = scatter_sort_bytes(plan, call.count);
    scratch.slices = lay_out_slices(layout, call, plan);
    // Used again for the payload of long slices.
    const std::int64_t payload = scratch.slices.count > 0 ? call.count * plan.payload_bytes : 0;
    scratch.sort = layout.take(std::max(static_cast<std::int64_t>(scratch.sort_bytes), payload));
  }
  if (reduces && !plan.is_across)
    scratch.long_keys = lay_out_long_keys(layout, call);
  else
    scratch.long_keys.number = layout.take<unsigned long long>(1);
  if (reduces && plan.is_across) scratch.key_blocks = lay_out_key_blocks(layout, call);
  return scratch;
}

void scatter_sorted(Device& device, const ScatterCall& call) {
  const SortPlan plan = sort_plan(call);
  ScratchLayout measure;
  lay_out(measure, call, plan);
  const Buffer memory(device, measure.bytes(), call.stream);
  ScratchLayout layout(memory.data());
  const Scratch scratch = lay_out(layout, call, plan);
  // Indices that have changed since they were checked may not be sorted. Of a key that begins but
  // does not end, nothing is joined.
  if (call.args.sorted && scratch.long_keys.ends != nullptr)
    check(cudaMemsetAsync(scratch.long_keys.ends, 0, blocks_of(call) * sizeof(std::int64_t),
                          call.stream),
          "cudaMemsetAsync");
  if (!plan.by_tiles)
    scatter_keys(call, plan, scratch.keys, scratch.payload, scratch.long_keys.number);
  const std::byte* keys = scratch.keys;
  const std::byte* payload = scratch.payload != nullptr ? scratch.payload : call.args.values;
  if (plan.by_tiles) {
    scatter_sort_tiles(call, scratch.tiles, TilePayload::Numbers, scratch.long_keys.number);
    scatter_place_tiles(call, scratch.tiles,
                        {.keys = reinterpret_cast<std::uint32_t*>(scratch.keys),
                         .payload = scratch.payload,
                         .sorted_keys = reinterpret_cast<std::uint32_t*>(scratch.sorted_keys),
                         .sorted_payload = scratch.sorted_payload});
  } else if (!call.args.sorted) {
    scatter_sort(plan,
                 {keys, scratch.sorted_keys, payload, scratch.sorted_payload, scratch.sort,
                  scratch.sort_bytes},
                 call.count, call.stream);
  }
  if (!call.args.sorted) {
    keys = scratch.sorted_keys;
    payload = scratch.sorted_payload;
  }
  const auto* short_keys = reinterpret_cast<const std::uint32_t*>(keys);
  const Slices& slices = scratch.slices;
  if (slices.count > 0) {
    scatter_find_slices(call, slices, short_keys);
    scatter_combine_slices(call, slices, short_keys, payload);
    scatter_count_long_slices(call, slices, short_keys);
    scatter_sort_long_slices(call, plan, slices,
                             {keys, scratch.keys, payload, scratch.sort, nullptr, 0});
    keys = scratch.keys;
    payload = scratch.sort;
    short_keys = reinterpret_cast<const std::uint32_t*>(keys);
  }
  const bool reduces = call.args.reduce != GPUKERN_REDUCE_NONE;
  if (plan.is_across)
    return reduces ? scatter_reduce_across(call, keys, payload, scratch.key_blocks)
                   : scatter_put_across(call, keys, payload);
  if (!reduces) {
    if (plan.moves_values)
      scatter_put_items(call, slices, short_keys, payload);
    else
      scatter_put_rows(call, plan, keys, payload);
    return;
  }
  if (plan.moves_values)
    scatter_reduce_items(call, slices, short_keys, payload, scratch.long_keys);
  else
    scatter_reduce_rows(call, plan, keys, payload, scratch.long_keys);
  scatter_join(call, plan, keys, scratch.long_keys);
}

constexpr std::int64_t kTableEntry = sizeof(std::uint32_t);

void scatter_by_table(Device& device, const ScatterCall& call) {
  const Buffer memory(device, call.args.keys.count() * kTableEntry, call.stream);
  auto* const last = static_cast<std::uint32_t*>(memory.data());
  scatter_find_last(call, last);
  scatter_put_last(call, last);
}

enum class Way {
  Direct,
  Along,
  Lines,
  StridedLines,
  Rows,
  Table,
  Atomic,
  Few,
  Hashed,
  Tiled,
  Sorted
};

struct Choice {
  Way way;
  std::optional<UpdateLines> lines = std::nullopt;  ///< for the ways of lines
};

/// Up to here, atomic operations are faster than sorting, unless few rows have most updates.
constexpr std::int64_t kAtomicRowsTo = 1 << 18;
/// Up to here, and to a target that stays in the cache, they are faster for columns and for single
/// values: floating-point numbers in any order, and integers.
constexpr std::int64_t kAtomicColumnsTo = 1 << 20;
constexpr std::int64_t kAtomicTo = 1 << 22;
constexpr std::int64_t kAtomicIntegersTo = 1 << 23;

/// Whether random accesses to an array find it in the L2 cache, beside what else passes through it.
bool stays_cached(std::int64_t bytes) { return bytes <= device_facts().l2_bytes / 2; }

bool prefers_atomic(const ScatterCall& call, bool is_ordered) {
  const ScatterArgs& args = call.args;
  if (is_ordered && !args.any_order) return false;
  if (args.item < kAtomicBytes) {
    // An array of wider ones is cleared before, and read after the updates. Where it is cached, its
    // size is bounded by the scratch memory that gpukern_scatter() may use. Measured:
    // benchmarks/notes/scatter.md#integers-by-atomic-operations.
    const std::int64_t keys = args.keys.count();
    const bool is_cached = stays_cached(kAtomicBytes * keys);
    const std::int64_t most = !is_cached ? 1 : call.count <= kScatterHashed ? 64 : 16;
    const bool is_few = call.count <= kScatterFew / 2 && has_few(call);
    if (is_few || ceil_divide(keys, most) > call.count) return false;
  }
  if (call.columns > 1 && !args.any_order) return call.count <= kAtomicRowsTo;
  // Updates in order have the keys of few rows along the axis at a time.
  const std::int64_t keys = std::min(args.keys.count(), args.n * args.key_step);
  const std::int64_t most = call.columns > 1 ? kAtomicColumnsTo
                            : is_ordered     ? kAtomicTo
                                             : kAtomicIntegersTo;
  const std::int64_t item = std::max(args.item, kAtomicBytes);
  return call.count * call.columns <= most || stays_cached(keys * call.columns * item);
}

/// Without a reduction: whether a table of the last update of each key is not too large.
bool has_table(const ScatterCall& call) {
  constexpr std::int64_t kMaxCount = (std::int64_t{1} << 32) - 2;
  constexpr std::int64_t kMostScratch = 64;  // bytes for each update
  const ScatterArgs& args = call.args;
  return args.reduce == GPUKERN_REDUCE_NONE && call.count <= kMaxCount &&
         kTableEntry * args.keys.count() <= kMostScratch * call.count;
}

bool is_ordered(const ScatterArgs& args) {
  bool ordered = true;
  visit_reduced_dtype(args.dtype, [&](auto tag) {
    ordered = depends_on_order<typename decltype(tag)::type>(args.reduce);
  });
  return ordered;
}

/// Whether the values of long rows that are reduced are enough that a sort, which shares a key
/// with most of the updates by all threads, takes little of the time.
bool sorts_long_rows(const ScatterCall& call) {
  constexpr std::int64_t kLeastColumns = 1 << 12;
  constexpr std::int64_t kLeastValues = 1 << 24;
  return call.columns >= kLeastColumns && call.count >= kLeastValues / call.columns;
}

Choice choose_way(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  // Values of long rows are combined faster by the kernels of the hash table, if no key can have a
  // long group of them.
  constexpr std::int64_t kMostValues = 1 << 20;
  constexpr std::int64_t kLeastUpdates = 8;
  const bool reduces = args.reduce != GPUKERN_REDUCE_NONE;
  const bool is_long = reduces && call.count >= kLeastUpdates && call.count <= kMostShort &&
                       call.count * call.columns > kMostValues && has_hashed(args);
  const bool is_few = !is_long && has_few(call);
  if (is_across(call)) return {Way::Sorted};  // 2 to 9 times as fast for unique indices, too
  if (args.unique || call.count == 1) return {Way::Direct};
  const auto lines = call.count > kScatterFewRows ? update_lines(call) : std::nullopt;
  if (lines && has_few_along(call, *lines)) return {Way::Along, lines};
  if (lines && reduces && is_ordered(args) && !args.any_order && has_lines(call, *lines))
    return {Way::Lines, lines};
  const bool is_atomic = reduces && prefers_atomic(call, is_ordered(args)) && has_atomic(args);
  if (lines && !is_atomic && has_strided_lines(call, *lines)) return {Way::StridedLines, lines};
  if (reduces && !is_atomic && sorts_long_rows(call)) return {Way::Sorted};
  if (has_table(call)) {
    if (has_shared_rows(args)) return {Way::Rows};
    const bool is_sorted = args.sorted && args.row_bytes() > kWordBytes;
    if (!is_few && !is_sorted && prefers_table(call)) return {Way::Table};
  }
  if (!is_few && args.sorted) return {Way::Sorted};  // without a sort: as fast as atomic operations
  if (is_atomic) return {Way::Atomic};
  if (is_few) return {Way::Few};
  if (has_tiled(call)) return {Way::Tiled};
  // More puts than half as many, and long rows, are faster by a sort.
  constexpr std::int64_t kMostColumns = 64;
  const bool is_short = reduces && call.columns <= kMostColumns;
  const std::int64_t hashed = is_short ? kScatterHashed : kScatterHashed / 2;
  const bool is_hashed = call.count <= hashed && has_hashed(args) && !sorts_tiles(call);
  return {is_hashed ? Way::Hashed : Way::Sorted};
}

}  // namespace

bool prefers_table(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  if (!has_table(call)) return false;
  // Updates in order have the keys of few rows along the axis at a time.
  if (stays_cached(kTableEntry * args.n * args.key_step)) return true;
  // Two accesses to memory for an update take as long as a sort, unless slices are sorted.
  return call.count < kSlicesFrom && kTableEntry * args.keys.count() <= 2 * device_facts().l2_bytes;
}

LongKeys lay_out_long_keys(ScratchLayout& layout, const ScatterCall& call) {
  const std::int64_t blocks = blocks_of(call);
  const std::int64_t row = call.columns * accumulator_bytes(call.args.dtype);
  LongKeys keys{};
  keys.number = layout.take<unsigned long long>(1);
  keys.firsts = layout.take<std::int64_t>(blocks);
  keys.ends = layout.take<std::int64_t>(blocks);
  keys.first_blocks = layout.take(blocks, row);
  keys.later_blocks = layout.take(blocks, row);
  return keys;
}

bool has_wide_keys(const ScatterCall& call) {
  constexpr std::int64_t kMax = (std::int64_t{1} << 32) - 1;
  return call.args.keys.count() >= kMax || call.count >= kMax;
}

TargetElements target_elements(const ScatterArgs& args) {
  return {args.target, LoopOffsets(args.keys)};
}

UpdateValues update_values(const ScatterArgs& args) {
  Loop<1> updates;
  for (int d = 0; d < args.updates.ndim; ++d)
    updates.push(args.updates.extent[d], {args.updates.stride[kUpdateValue][d]});
  updates.coalesce();
  return {args.values, LoopOffsets(updates)};
}

bool is_aligned(const ScatterArgs& args, std::int64_t bytes, bool with_columns) {
  bool aligned = alignment_of(args.target) >= bytes && alignment_of(args.values) >= bytes;
  for (int d = 0; d < args.keys.ndim; ++d) aligned = aligned && args.keys.stride[0][d] % bytes == 0;
  for (int d = 0; d < args.updates.ndim; ++d)
    aligned = aligned && args.updates.stride[kUpdateValue][d] % bytes == 0;
  for (int d = 0; with_columns && d < args.columns.ndim; ++d)
    for (const auto& strides : args.columns.stride) aligned = aligned && strides[d] % bytes == 0;
  return aligned;
}

void scatter(Device& device, const ScatterArgs& args, cudaStream_t stream) {
  const ScatterCall call{args, args.updates.count(), args.columns.count(), stream};
  const auto [way, lines] = choose_way(call);
  switch (way) {
    case Way::Direct:
      return scatter_direct(call, false);
    case Way::Along:
      return scatter_along(call, *lines);
    case Way::Lines:
      return scatter_lines(call, *lines);
    case Way::StridedLines:
      return scatter_strided_lines(call, *lines);
    case Way::Rows:
      return scatter_put_shared(call);
    case Way::Table:
      return scatter_by_table(device, call);
    case Way::Atomic:
      return scatter_atomically(device, call);
    case Way::Few:
      return scatter_few(call);
    case Way::Hashed:
      return scatter_hashed(device, call);
    case Way::Tiled:
      return scatter_tiled(device, call);
    case Way::Sorted:
      return scatter_sorted(device, call);
  }
}

Strategy scatter_strategy(const ScatterArgs& args) {
  const ScatterCall call{args, args.updates.count(), args.columns.count(), nullptr};
  const Way way = choose_way(call).way;
  const bool sorts = way == Way::Sorted || way == Way::Tiled;
  return {.path = sorts ? GPUKERN_PATH_PARTITIONED : GPUKERN_PATH_ITEMS};
}

}  // namespace gpukern::gpu

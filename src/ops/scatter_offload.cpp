// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/scatter_offload.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "src/core/updates.hpp"
#include "src/ops/gather_args.hpp"
#include "src/ops/packed_parts.hpp"
#include "src/runtime/profiler_range.hpp"

namespace gpukern {
namespace {

/// Bytes of scratch memory that a GPU needs at most for each update of the chunk that it computes;
/// more for the hash table of up to 128 Ki updates: by update, and in all.
constexpr std::int64_t kScratch = 64;
constexpr std::int64_t kTableScratch = 640;
constexpr std::int64_t kMostTableScratch = std::int64_t{48} << 20;
/// The part of the values that joined blocks of them have.
constexpr std::int64_t kBlockShare = 16;
constexpr std::int64_t kIndexBytes = sizeof(std::int64_t);
/// Bytes of values that the host packs at once, or one column of them.
constexpr std::int64_t kHostBytes = std::int64_t{256} << 20;

/// Where a chunk holds its operands, after the target.
struct Places {
  std::int64_t index;
  std::int64_t values;
  std::int64_t end;
};

Places places_of(std::int64_t row, std::int64_t keys, std::int64_t updates) {
  Places at{};
  at.index = part_aligned(keys * row);
  at.values = at.index + part_aligned(updates * kIndexBytes);
  at.end = at.values + part_aligned(updates * row);
  return at;
}

std::int64_t lowest_value(const Loop<3>& updates) {
  std::int64_t lowest = 0;
  for (int d = 0; d < updates.ndim; ++d)
    lowest += std::min<std::int64_t>(0, (updates.extent[d] - 1) * updates.stride[kUpdateValue][d]);
  return lowest;
}

/// A range of keys and of columns.
struct Part {
  Slice<2> columns;
  std::int64_t first;
  std::int64_t keys;
  Update* updates;
  std::int64_t count;
};

class ScatterInChunks {
 public:
  ScatterInChunks(const Call& call, const ScatterArgs& args, std::int64_t chunk_bytes,
                  Progress& progress)
      : call_(call),
        args_(args),
        key_stride_(args.keys.ndim > 0 ? args.keys.stride[0][0] : args.item),
        lowest_value_(lowest_value(args.updates)),
        chunk_bytes_(chunk_bytes),
        progress_(progress),
        pipeline_(call.device, call.stream, progress, {{chunk_bytes, chunk_bytes}}, kSlots) {}

  void run() {
    const std::int64_t keys = args_.keys.count();
    int shift = 0;
    while (((keys - 1) >> shift) >= SlicedUpdates::kMaxSlices) ++shift;
    const SlicedUpdates sliced = call_.data_device.slice_updates(args_, shift);
    for (std::int64_t u = 0; lowest_value_ < 0 && u < sliced.begin.back(); ++u)
      sliced.updates[static_cast<std::size_t>(u)].value -= lowest_value_;
    const auto part_of = [&](std::int64_t slice, std::int64_t end) {
      const std::int64_t first = slice << shift;
      const std::int64_t from = sliced.begin_of(slice);
      return Part{{.loop = args_.columns, .offset = {}},
                  first,
                  std::min(end << shift, keys) - first,
                  sliced.updates.get() + from,
                  sliced.begin_of(end) - from};
    };
    for (std::int64_t slice = 0; slice < sliced.slices();) {
      std::int64_t end = slice + 1;
      Part part = part_of(slice, end);
      while (part.count > 0 && end < sliced.slices() && fits(part_of(slice, end + 1)))
        part = part_of(slice, ++end);
      pass(part);
      slice = end;
    }
    pipeline_.finish();
  }

 private:
  [[nodiscard]] std::int64_t row(const Part& part) const {
    return part.columns.loop.count() * args_.item;
  }
  [[nodiscard]] Places places(const Part& part) const {
    return places_of(row(part), part.keys, part.count);
  }
  [[nodiscard]] bool fits(const Part& part) const { return places(part).end <= chunk_bytes_; }

  void pass(const Part& part) {
    if (part.count == 0) return progress_.add(part.keys * row(part));
    if (fits(part)) return compute(part);
    if (part.keys > 1) return pass_halves(part);
    const bool column_fits = places_of(args_.item, 1, part.count).end <= chunk_bytes_;
    if (!column_fits && (part.columns.loop.count() == 1 || row(part) * part.count <= kHostBytes))
      return compute_on_host(part);
    halve(part.columns, [&](const Slice<2>& columns) {
      Part half = part;
      half.columns = columns;
      pass(half);
    });
  }

  void pass_halves(const Part& part) {
    Part lower = part;
    lower.keys /= 2;
    Part upper = part;
    upper.first += lower.keys;
    upper.keys -= lower.keys;
    // Not std::stable_partition, whose buffer libstdc++ takes from a deprecated function.
    std::vector<Update> moved;
    upper.updates = part.updates;
    for (const Update& update : std::span(part.updates, static_cast<std::size_t>(part.count))) {
      if (update.key < upper.first)
        *upper.updates++ = update;
      else
        moved.push_back(update);
    }
    std::ranges::copy(moved, upper.updates);
    lower.count = upper.updates - lower.updates;
    upper.count -= lower.count;
    pass(lower);
    pass(upper);
  }

  void compute(const Part& part) {
    const Range range("scatter: chunk");
    Pipeline::Chunk& chunk = pipeline_.next();
    pack(part, chunk.staging(0));
    std::byte* const memory = chunk.memory(0);
    chunk.send_pinned(chunk.staging(0), places(part).end, memory);
    call_.device.run(packed_args(part, memory), chunk.work());
    chunk.fetch(0, memory, target(part), target_layout(part));
  }

  /// A key with more updates than a chunk holds.
  void compute_on_host(const Part& part) {
    Device& host = call_.data_device;
    const Buffer memory(host, places(part).end, nullptr);
    auto* const begin = static_cast<std::byte*>(memory.data());
    pack(part, begin);
    host.run(packed_args(part, begin), nullptr);
    host.run(unpacking(begin, target(part), target_layout(part)), nullptr);
    progress_.add(part.keys * row(part));
  }

  [[nodiscard]] std::byte* target(const Part& part) const {
    return args_.target + part.columns.offset[kTargetColumn] + part.first * key_stride_;
  }
  [[nodiscard]] int outer(const Part& part) const {
    return outer_dimensions(part.columns.loop, kTargetColumn, key_stride_);
  }
  [[nodiscard]] Layout target_layout(const Part& part) const {
    return part_layout(part.columns.loop, kTargetColumn, outer(part), args_.item,
                       positions_of(part.keys, key_stride_));
  }

  void pack(const Part& part, std::byte* to) const {
    const Places at = places(part);
    call_.data_device.run(packing(target(part), target_layout(part), to), nullptr);
    auto* const index = reinterpret_cast<std::int64_t*>(to + at.index);
    for (std::int64_t u = 0; u < part.count; ++u) index[u] = part.updates[u].key - part.first;
    call_.data_device.run(values_of(part, to + at.values), nullptr);
  }

  /// The gather of a part's values: the offsets are the index, and the source's axis is its bytes.
  [[nodiscard]] GatherArgs values_of(const Part& part, std::byte* to) const {
    GatherArgs args;
    args.source = args_.values + lowest_value_ + part.columns.offset[kValueColumn];
    args.index = reinterpret_cast<const std::byte*>(&part.updates->value);
    args.out = to;
    args.item = args_.item;
    args.n = std::numeric_limits<std::int64_t>::max();
    args.axis = positions_of(args.n, 1);
    const Loop<2>& columns = part.columns.loop;
    Loop<2> packed = columns;
    const int between = outer(part);
    const std::int64_t step = pack_columns(packed, kValueColumn, between, args_.item, part.count);
    for (int d = 0; d <= columns.ndim; ++d) {
      if (d == between) args.loop.push(part.count, {0, std::int64_t{sizeof(Update)}, step, 0});
      if (d < columns.ndim)
        args.loop.push(columns.extent[d],
                       {columns.stride[kValueColumn][d], 0, packed.stride[kValueColumn][d], 0});
    }
    args.loop.coalesce();
    join_items(args);
    return args;
  }

  [[nodiscard]] ScatterArgs packed_args(const Part& part, std::byte* memory) const {
    const Places at = places(part);
    ScatterArgs args;
    args.target = memory;
    args.index = memory + at.index;
    args.values = memory + at.values;
    args.dtype = args_.dtype;
    args.item = args_.item;
    args.columns = part.columns.loop;
    const int between = outer(part);
    const auto step = [&](int operand, std::int64_t count) {
      return pack_columns(args.columns, operand, between, args.item, count);
    };
    args.keys = positions_of(part.keys, step(kTargetColumn, part.keys));
    args.updates.push(part.count, {kIndexBytes, step(kValueColumn, part.count), 0});
    args.keys.coalesce();
    args.updates.coalesce();
    args.columns.coalesce();
    args.n = part.keys;
    args.reduce = args_.reduce;
    args.any_order = args_.any_order;
    args.unique = args_.unique;
    join_columns(args);
    return args;
  }

  const Call& call_;
  const ScatterArgs& args_;
  std::int64_t key_stride_;
  std::int64_t lowest_value_;  ///< the least offset of an update's value, not positive
  std::int64_t chunk_bytes_;
  Progress& progress_;
  Pipeline pipeline_;
};

/// As if each chunk were full: the indices are not read.
void explain(const Call& call, const ScatterArgs& args, std::int64_t chunk_bytes) {
  gpukern_explanation& explanation = *call.explanation;
  const std::int64_t row = args.columns.count() * args.item;
  const std::int64_t target = args.keys.count() * row;
  const std::int64_t sent =
      reported(static_cast<long double>(args.updates.count()) * (row + kIndexBytes) + target);
  Pipeline::explain(explanation, {{chunk_bytes, chunk_bytes}}, sent / chunk_bytes + 1);
  add_reported(explanation.bytes_to_device, sent);
  add_reported(explanation.bytes_from_device, target);
  ScatterArgs whole = args;
  join_columns(whole);
  call.device.run(whole, nullptr);
}

}  // namespace

std::int64_t scatter_chunk(const ScatterArgs& args, std::int64_t limit) {
  // The updates of a chunk have this number of bytes at least.
  const std::int64_t update = kIndexBytes + args.item;
  const auto share = [&](std::int64_t memory, std::int64_t scratch) {
    const auto part = static_cast<long double>(kSlots * update) / (kSlots * update + scratch);
    return packed_chunk(static_cast<std::int64_t>(memory * part));
  };
  std::int64_t bytes = share(limit, kScratch + kTableScratch);
  if (limit > kMostTableScratch)
    bytes = std::max(bytes, share(limit - kMostTableScratch, kScratch));
  return places_of(args.item, 1, 1).end <= bytes ? bytes : 0;
}

std::int64_t scatter_scratch(const ScatterArgs& args) {
  const auto updates = static_cast<long double>(args.updates.count());
  const long double values = updates * args.columns.count() * args.item;
  return reported(updates * kScratch + values / kBlockShare +
                  std::min(updates * kTableScratch, static_cast<long double>(kMostTableScratch)));
}

void scatter_in_chunks(const Call& call, const ScatterArgs& args, std::int64_t chunk_bytes,
                       Progress& progress) {
  if (call.explanation != nullptr) return explain(call, args, chunk_bytes);
  ScatterInChunks(call, args, chunk_bytes, progress).run();
}

void join_columns(ScatterArgs& args) {
  Loop<2>& loop = args.columns;
  while (loop.ndim > 0 && args.reduce == GPUKERN_REDUCE_NONE) {
    const int d = loop.ndim - 1;
    if (loop.stride[kTargetColumn][d] != args.item || loop.stride[kValueColumn][d] != args.item)
      return;
    args.item *= loop.extent[d];
    --loop.ndim;
  }
}

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/reduce_offload.hpp"

#include <algorithm>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/ops/packed_parts.hpp"
#include "src/runtime/profiler_range.hpp"

namespace gpukern {
namespace {

constexpr std::int64_t kOffsetBytes = sizeof(std::int64_t);

std::int64_t axis_stride(const GatherReduceArgs& args) {
  return args.axis.ndim > 0 ? args.axis.stride[0][0] : args.item;
}

/// Bytes of an item's index and weight.
std::int64_t item_bytes(const GatherReduceArgs& args) {
  return (args.index != nullptr ? args.index_type.bytes : 0) +
         (args.weights != nullptr ? args.item : 0);
}

/// Of a chunk's share of device memory, the part for its scratch memory: of an index, whose items
/// may have any number of columns, and of items that are in the chunk themselves.
constexpr std::int64_t kScratchOfIndex = 2;
constexpr std::int64_t kScratchOfItems = 32;

/// An upper bound of the scratch memory of a GPU: sums of the blocks of long bags.
std::int64_t scratch_bytes(const GatherReduceArgs& args, std::int64_t row, std::int64_t items) {
  constexpr std::int64_t kLists = 64;
  const std::int64_t sums = 2 * (row / args.item) * accumulator_bytes(args.dtype);
  const std::int64_t blocks = items / kBlockValues + 1;
  return blocks > 1 ? reported(static_cast<long double>(blocks) * (sums + kLists)) : 0;
}

/// Bags, and columns of the source.
struct Part {
  Slice<2> columns;
  std::int64_t first;
  std::int64_t bags;
};

/// The items of a part's bags, between which there may be others.
struct Items {
  std::int64_t first;
  std::int64_t count;
};

/// Where a chunk holds its operands, after the offsets.
struct Places {
  std::int64_t index;
  std::int64_t weights;
  std::int64_t source;
  std::int64_t out;
  std::int64_t end;
};

Places places_of(const GatherReduceArgs& args, std::int64_t row, std::int64_t bags,
                 std::int64_t items) {
  const bool has_index = args.index != nullptr;
  Places at{};
  at.index = part_aligned((bags + 1) * kOffsetBytes);
  at.weights = at.index + part_aligned(has_index ? items * args.index_type.bytes : 0);
  at.source = at.weights + part_aligned(args.weights != nullptr ? items * args.item : 0);
  at.out = at.source + part_aligned(has_index ? 0 : items * row);
  at.end = at.out + part_aligned(bags * row);
  return at;
}

class ReduceInChunks {
 public:
  ReduceInChunks(const Call& call, const GatherReduceArgs& args, const ReduceChunks& chunks,
                 Progress& progress)
      : call_(call),
        args_(args),
        chunks_(chunks),
        progress_(progress),
        pipeline_(call.device, call.stream, progress, {{chunks.bytes, chunks.bytes}}, kSlots) {
    offsets_.reserve(static_cast<std::size_t>(args.bags + 1));
    for (std::int64_t b = 0; b <= args.bags; ++b)
      offsets_.push_back(
          clip_offset(load_index(args.offsets + b * args.offset_step, args.offset_type),
                      args.offset_type.is_signed, args.count));
    if (chunks.held > 0) held_ = pipeline_.hold(chunks.held);
  }

  void run() {
    const Slices<2> slices(args_.columns, chunks_.columns);
    for (std::int64_t k = 0; k < slices.count(); ++k) {
      const Part part{slices[k], 0, args_.bags};
      if (held_ != nullptr) hold(part);
      pass(part);
      pipeline_.finish();  // the next columns replace these
    }
  }

 private:
  [[nodiscard]] std::int64_t row(const Part& part) const {
    return part.columns.loop.count() * args_.item;
  }
  [[nodiscard]] Items items(const Part& part) const {
    const auto* const first = offsets_.data() + part.first;
    const auto [least, most] = std::minmax_element(first, first + part.bags + 1);
    return {*least, *most - *least};
  }
  [[nodiscard]] Places places(const Part& part) const {
    return places_of(args_, row(part), part.bags, items(part).count);
  }
  [[nodiscard]] int outer(const Part& part) const {
    return outer_dimensions(part.columns.loop, kSourceColumn, axis_stride(args_));
  }

  void hold(const Part& part) {
    const Layout layout =
        part_layout(part.columns.loop, kSourceColumn, outer(part), args_.item, args_.axis);
    pipeline_.upload(args_.source + part.columns.offset[kSourceColumn], layout, held_, 0,
                     chunks_.bytes);
  }

  [[nodiscard]] bool fits(std::int64_t row, std::int64_t bags, std::int64_t items) const {
    return places_of(args_, row, bags, items).end <= chunks_.bytes &&
           scratch_bytes(args_, row, items) <= chunks_.bytes;
  }

  void pass(const Part& part) {
    const std::int64_t count = items(part).count;
    if (fits(row(part), part.bags, count)) return compute(part);
    if (part.bags > 1) {
      const std::int64_t half = part.bags / 2;
      pass({part.columns, part.first, half});
      return pass({part.columns, part.first + half, part.bags - half});
    }
    if (held_ != nullptr || !fits(args_.item, 1, count)) return compute_on_host(part);
    halve(part.columns, [&](const Slice<2>& columns) { pass({columns, part.first, part.bags}); });
  }

  void compute(const Part& part) {
    const Range range("reduce: chunk");
    Pipeline::Chunk& chunk = pipeline_.next();
    const Places at = places(part);
    pack(part, at, chunk.staging(0));
    chunk.send_pinned(chunk.staging(0), at.out, chunk.memory(0));
    call_.device.run(packed_args(part, at, chunk.memory(0)), chunk.work());
    chunk.fetch(0, chunk.memory(0) + at.out,
                args_.out + part.columns.offset[kOutColumn] + part.first * args_.out_step,
                part_layout(part.columns.loop, kOutColumn, outer(part), args_.item,
                            positions_of(part.bags, args_.out_step)));
  }

  /// A bag with more items than a chunk holds.
  void compute_on_host(const Part& part) {
    GatherReduceArgs args = args_;
    args.source += part.columns.offset[kSourceColumn];
    args.offsets += part.first * args_.offset_step;
    args.out += part.columns.offset[kOutColumn] + part.first * args_.out_step;
    args.columns = part.columns.loop;
    args.bags = part.bags;
    call_.data_device.run(args, nullptr);
    progress_.add(part.bags * row(part));
  }

  void pack(const Part& part, const Places& at, std::byte* to) const {
    const auto [first, count] = items(part);
    auto* const offsets = reinterpret_cast<std::int64_t*>(to);
    for (std::int64_t b = 0; b <= part.bags; ++b)
      offsets[b] = offsets_[static_cast<std::size_t>(part.first + b)] - first;
    const auto copy = [&](const std::byte* from, const Layout& layout, std::byte* place) {
      if (count > 0) call_.data_device.run(packing(from, layout, place), nullptr);
    };
    const auto copy_list = [&](const std::byte* from, std::int64_t step, std::int64_t item,
                               std::byte* place) {
      copy(from + first * step, {item, positions_of(count, step)}, place);
    };
    if (args_.index != nullptr)
      copy_list(args_.index, args_.index_step, args_.index_type.bytes, to + at.index);
    else
      copy(args_.source + part.columns.offset[kSourceColumn] + first * axis_stride(args_),
           part_layout(part.columns.loop, kSourceColumn, outer(part), args_.item,
                       positions_of(count, axis_stride(args_))),
           to + at.source);
    if (args_.weights != nullptr)
      copy_list(args_.weights, args_.weight_step, args_.item, to + at.weights);
  }

  [[nodiscard]] GatherReduceArgs packed_args(const Part& part, const Places& at,
                                             std::byte* memory) const {
    GatherReduceArgs args;
    args.count = items(part).count;
    args.n = held_ != nullptr ? args_.n : args.count;
    args.source = held_ != nullptr ? held_ : memory + at.source;
    args.offsets = memory;
    args.out = memory + at.out;
    args.dtype = args_.dtype;
    args.item = args_.item;
    args.bags = part.bags;
    args.mode = args_.mode;
    args.reduce = args_.reduce;
    args.offset_step = kOffsetBytes;
    if (args_.index != nullptr) {
      args.index = memory + at.index;
      args.index_step = args_.index_type.bytes;
      args.index_type = args_.index_type;
    }
    if (args_.weights != nullptr) {
      args.weights = memory + at.weights;
      args.weight_step = args_.item;
    }
    args.columns = part.columns.loop;
    args.out_step = pack_columns(args.columns, kOutColumn, outer(part), args.item, part.bags);
    args.axis = positions_of(
        args.n, pack_columns(args.columns, kSourceColumn, outer(part), args.item, args.n));
    args.axis.coalesce();
    args.columns.coalesce();
    return args;
  }

  const Call& call_;
  const GatherReduceArgs& args_;
  ReduceChunks chunks_;
  Progress& progress_;
  std::vector<std::int64_t> offsets_;  ///< clipped
  Pipeline pipeline_;
  std::byte* held_ = nullptr;
};

/// As if each chunk were full: the offsets are not read.
void explain(const Call& call, const GatherReduceArgs& args, const ReduceChunks& chunks) {
  gpukern_explanation& explanation = *call.explanation;
  const Slices<2> slices(args.columns, chunks.columns);
  const std::int64_t row = args.columns.count() * args.item;
  const auto lists = static_cast<long double>(args.count) * item_bytes(args) +
                     static_cast<long double>(args.bags + 1) * kOffsetBytes;
  const std::int64_t sent =
      reported(lists * slices.count() +
               static_cast<long double>(args.index != nullptr ? args.n : args.count) * row);
  const std::int64_t out = args.bags * row;
  Pipeline::explain(
      explanation, {{chunks.bytes, chunks.bytes}},
      std::max(slices.count(), reported(sent + static_cast<long double>(out)) / chunks.bytes) + 1);
  add_reported(explanation.bytes_allocated, chunks.held);
  add_reported(explanation.bytes_to_device, sent);
  add_reported(explanation.bytes_from_device, out);
  call.device.run(args, nullptr);
}

}  // namespace

std::int64_t reduce_scratch(const GatherReduceArgs& args) {
  return scratch_bytes(args, args.columns.count() * args.item, args.count);
}

ReduceChunks reduce_chunks(const GatherReduceArgs& args, std::int64_t limit) {
  ReduceChunks chunks{.columns = args.columns.count(),
                      .held = 0,
                      .bytes = packed_chunk(limit - limit / kScratchOfItems)};
  if (args.index != nullptr && args.n > 0) {
    const std::int64_t for_source = limit / kSourcePart;
    // A row of the output takes a part of a chunk.
    const std::int64_t in_row =
        packed_chunk((limit - for_source) / kScratchOfIndex) / 4 / args.item;
    chunks.columns = std::min({chunks.columns, for_source / args.n / args.item, in_row});
    if (chunks.columns == 0) return chunks;
    chunks.held = aligned(chunks.columns * args.n * args.item);
    chunks.bytes = packed_chunk((limit - chunks.held) / kScratchOfIndex);
  }
  if (places_of(args, args.item, 1, 1).end > chunks.bytes) chunks.columns = 0;
  return chunks;
}

void reduce_in_chunks(const Call& call, const GatherReduceArgs& args, const ReduceChunks& chunks,
                      Progress& progress) {
  progress.expect(args.bags * args.columns.count() * args.item +
                  (chunks.held > 0 ? args.n * args.columns.count() * args.item : 0));
  if (call.explanation != nullptr) return explain(call, args, chunks);
  ReduceInChunks(call, args, chunks, progress).run();
}

}  // namespace gpukern

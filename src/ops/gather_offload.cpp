// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/gather_offload.hpp"

#include <algorithm>

#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/profiler_range.hpp"
#include "src/threading/parallel.hpp"
#include "src/threading/thread_limit.hpp"

namespace gpukern {

SourceWay source_way(const SourceFacts& facts) {
  const auto source = static_cast<double>(facts.source_bytes);
  const auto items = static_cast<double>(facts.items);
  const auto out = static_cast<double>(facts.out_bytes);
  const double through = std::max(out, static_cast<double>(facts.index_bytes));
  const double threads = facts.threads;
  const double on_host =
      std::max(items / (kThreadItems * threads), out / std::min(kThreadBytes * threads, kCpuBytes));
  const double in_place = std::max(items / kInPlaceItems, through / kInPlaceBytes);
  const double copied = source / (facts.pinned ? kPinnedCopy : kStagedCopy) + through / kStagedCopy;
  const bool finds_room = facts.source_bytes <= facts.limit / kSourcePart;
  if (finds_room && copied <= on_host && (!facts.pinned || copied <= in_place))
    return SourceWay::Copied;
  return facts.pinned && in_place <= on_host ? SourceWay::InPlace : SourceWay::OnHost;
}

std::byte* seen_in_place(Backend& device, const Tensor& source) {
  const Extent extent = extent_of(source);
  std::byte* const begin = device.pinned_view(extent.begin, extent.end);
  return begin != nullptr ? begin + (source.data - extent.begin) : nullptr;
}

namespace {

Layout layout_of(const Tensor& tensor) {
  Layout layout{tensor.item, {}};
  for (int d = 0; d < tensor.ndim; ++d) layout.loop.push(tensor.shape[d], {tensor.stride[d]});
  layout.loop.coalesce();
  return layout;
}

/// The slice with index and out packed, as they lie in a chunk.
GatherArgs in_chunk(GatherArgs part, const std::byte* index, std::byte* out) {
  std::int64_t index_stride = part.index_type.bytes;
  std::int64_t out_stride = part.item;
  for (int d = part.loop.ndim - 1; d >= 0; --d) {
    part.loop.stride[kOut][d] = out_stride;
    out_stride *= part.loop.extent[d];
    if (part.loop.stride[kIndex][d] == 0) continue;
    part.loop.stride[kIndex][d] = index_stride;
    index_stride *= part.loop.extent[d];
  }
  part.index = index;
  part.out = out;
  part.loop.coalesce();
  join_items(part);
  return part;
}

/// The pipeline of a gather whose source, or its copy, the GPU reads at `args.source`.
class GatherPipeline {
 public:
  GatherPipeline(const GatherCall& gather, const GatherArgs& args, SourceWay way,
                 std::int64_t limit)
      : gather_(gather),
        args_(args),
        copied_(way == SourceWay::Copied),
        limit_(limit),
        source_(layout_of(gather.operands.source)),
        index_(gpukern::layout_of(args.loop, kIndex, args.index_type.bytes, true)),
        source_staged_(copied_ && staged(gather.operands.source, source_)),
        index_staged_(staged(gather.operands.index, index_)),
        out_staged_(staged(gather.operands.out, gpukern::layout_of(args.loop, kOut, args.item))),
        most_(most()),
        slices_(args_.loop, std::max<std::int64_t>(1, most_ / bytes_a_position())) {}

  void run(Progress& progress) {
    const Slice<4> largest = slices_[0];
    const std::int64_t index = index_layout(largest).bytes();
    const std::int64_t out = largest.loop.count() * args_.item;
    const std::int64_t source = std::max(most_, source_.item);
    const std::int64_t chunks = slices_.count() + (copied_ ? source_.bytes() / source + 1 : 0);
    const Pipeline::Operands shape{{{index, index_staged_ ? index : 0},
                                    {out, out_staged_ ? out : 0},
                                    {0, source_staged_ ? source : 0}}};
    if (gather_.call.plan != nullptr) return plan(*gather_.call.plan, shape, chunks);
    Pipeline pipeline(gather_.call.backend, gather_.call.stream, progress, shape, chunks);
    if (copied_) {
      std::byte* const there = pipeline.hold(source_.bytes());
      pipeline.upload(gather_.operands.source.data, source_, there, 2, source);
      args_.source = there;
    }
    for (std::int64_t k = 0; k < slices_.count(); ++k) pass(pipeline.next(), slices_[k]);
    pipeline.finish();
  }

 private:
  [[nodiscard]] bool staged(const Tensor& tensor, const Layout& layout) const {
    return needs_staging(gather_.call.backend, tensor, layout);
  }
  [[nodiscard]] Layout index_layout(const Slice<4>& slice) const {
    return gpukern::layout_of(slice.loop, kIndex, args_.index_type.bytes, true);
  }

  [[nodiscard]] std::int64_t most() const {
    const std::int64_t left = limit_ - (copied_ ? source_.bytes() : 0);
    const std::int64_t total = std::max(args_.loop.count() * args_.item, index_.bytes());
    return chunk_bytes(left, 2, total, source_staged_ || index_staged_ || out_staged_);
  }

  /// Of the longer one of index and out.
  [[nodiscard]] std::int64_t bytes_a_position() const {
    std::int64_t inner = 1;
    for (int d = args_.loop.ndim - 1; d >= 0 && args_.loop.stride[kIndex][d] == 0; --d)
      inner *= args_.loop.extent[d];
    return std::max(args_.item, (args_.index_type.bytes - 1) / inner + 1);
  }

  void plan(gpukern_explanation& plan, const Pipeline::Operands& shape, std::int64_t chunks) const {
    const std::int64_t moved = args_.loop.count() * args_.item;
    Pipeline::plan(plan, shape, chunks);
    for (std::int64_t k = 0; k < slices_.count(); ++k) {
      const Slice<4> slice = slices_[k];
      plan.bytes_to_device += index_layout(slice).bytes();
      gather_.call.backend.gather(in_chunk(part_of(args_, slice), nullptr, nullptr), nullptr);
    }
    plan.bytes_from_device += moved;
    if (!copied_) return;
    plan.bytes_to_device += source_.bytes();
    plan.bytes_allocated += source_.bytes();
  }

  void pass(Pipeline::Chunk& chunk, const Slice<4>& slice) {
    const Range range("gather: chunk");
    const GatherArgs part = part_of(args_, slice);
    chunk.send(0, part.index, index_layout(slice), chunk.memory(0));
    gather_.call.backend.gather(in_chunk(part, chunk.memory(0), chunk.memory(1)), chunk.work());
    chunk.fetch(1, chunk.memory(1), part.out, gpukern::layout_of(slice.loop, kOut, args_.item));
  }

  const GatherCall& gather_;
  GatherArgs args_;
  bool copied_;
  std::int64_t limit_;
  Layout source_;
  Layout index_;
  bool source_staged_;
  bool index_staged_;
  bool out_staged_;
  std::int64_t most_;
  Slices<4> slices_;
};

}  // namespace

void gather_in_parts(Backend& backend, const GatherArgs& args, Progress& progress) {
  const std::int64_t total = args.loop.count() * args.item;
  const Slices<4> slices(args.loop, std::max<std::int64_t>(1, report_bytes(total) / args.item));
  for (std::int64_t k = 0; k < slices.count(); ++k) {
    GatherArgs part = part_of(args, slices[k]);
    const std::int64_t bytes = part.loop.count() * part.item;
    part.loop.coalesce();
    join_items(part);
    backend.gather(part, nullptr);
    progress.add(bytes);
  }
}

void gather_through(const GatherCall& gather, std::int64_t limit, Progress& progress) {
  const auto& [source, index, out, fill] = gather.operands;
  std::byte* const seen = seen_in_place(gather.call.backend, source);
  GatherArgs joined = gather_args(gather.operands, gather.axis, gather.mode);
  join_items(joined);
  const SourceWay way = source_way({.source_bytes = source.bytes(),
                                    .index_bytes = index.bytes(),
                                    .out_bytes = out.bytes(),
                                    .items = joined.loop.count(),
                                    .pinned = seen != nullptr,
                                    .limit = limit,
                                    .threads = cpu::thread_limit()});
  progress.expect(out.bytes() + (way == SourceWay::Copied ? source.bytes() : 0));
  if (way == SourceWay::OnHost) {
    if (gather.call.plan != nullptr) gather.call.plan->rule = GPUKERN_RULE_SOURCE;
    return gather_in_parts(gather.call.home, gather_args(gather.operands, gather.axis, gather.mode),
                           progress);
  }
  // The layout in which the GPU sees the source; where it lies is known later if it is copied.
  Tensor there =
      way == SourceWay::Copied ? contiguous_at(nullptr, gather.call.device, source) : source;
  there.data = seen;
  GatherArgs args = gather_args({there, index, out, fill}, gather.axis, gather.mode);
  args.path = way == SourceWay::Copied ? gather.path : GPUKERN_GATHER_DIRECT;
  args.in_place = way == SourceWay::InPlace;
  GatherPipeline(gather, args, way, limit).run(progress);
}

}  // namespace gpukern

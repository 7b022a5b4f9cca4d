// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/gather_offload.hpp"

#include <algorithm>

#include "src/runtime/chunked_call.hpp"
#include "src/runtime/pipeline_tuning.hpp"
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

std::byte* seen_in_place(Device& device, const Tensor& source) {
  const Extent extent = extent_of(source);
  std::byte* const begin = device.pinned_view(extent.begin, extent.end);
  return begin != nullptr ? begin + (source.data - extent.begin) : nullptr;
}

namespace {

/// Gathers on the device in chunks. The device reads the source at `args.source`, or, if `whole` is
/// given, from a copy that precedes the first chunk.
void run_in_chunks(const GatherCall& gather, const GatherArgs& args, const Tensor* whole,
                   std::int64_t limit, Progress& progress) {
  const ChunkedCall<4> chunked(gather.call, "gather: chunk", args.loop,
                               {{.number = kIndex, .tensor = &gather.operands.index, .once = true},
                                {.number = kOut, .tensor = &gather.operands.out}},
                               limit, whole);
  chunked.run(progress, [&](const DeviceChunk<4>& chunk) {
    GatherArgs part = part_of(args, chunk.slice);
    if (whole != nullptr) part.source = offset_by(chunk.whole, chunk.slice.offset[kSource]);
    part.index = chunk.data[kIndex];
    part.out = chunk.data[kOut];
    part.loop = chunk.loop;
    join_items(part);
    gather.call.device.run(part, chunk.stream);
  });
}

}  // namespace

void gather_in_parts(Device& device, const GatherArgs& args, Progress& progress) {
  run_in_parts(args.loop, args.item, progress, [&](const Slice<4>& slice) {
    GatherArgs part = part_of(args, slice);
    part.loop.coalesce();
    join_items(part);
    device.run(part, nullptr);
  });
}

void gather_offloaded(const GatherCall& gather, std::int64_t limit, Progress& progress) {
  const auto& [source, index, out, fill] = gather.operands;
  const Call& call = gather.call;
  std::byte* const seen = seen_in_place(call.device, source);
  GatherArgs joined = gather_args(gather.operands, gather.axis, gather.mode, gather.make_loop);
  join_items(joined);
  const SourceWay way = source_way({.source_bytes = source.bytes(),
                                    .index_bytes = index.bytes(),
                                    .out_bytes = out.bytes(),
                                    .items = joined.loop.count(),
                                    .pinned = seen != nullptr,
                                    .limit = limit,
                                    .threads = cpu::thread_limit()});
  const bool copied = way == SourceWay::Copied;
  progress.expect(out.bytes() + (copied ? source.bytes() : 0));
  if (way == SourceWay::OnHost) {
    if (call.explanation != nullptr) call.explanation->rule = GPUKERN_RULE_SOURCE;
    const GatherArgs args =
        gather_args(gather.operands, gather.axis, gather.mode, gather.make_loop);
    return gather_in_parts(call.data_device, args, progress);
  }
  // The source as the device reads it; the address of a copy is not known yet.
  Tensor there = copied ? contiguous_at(nullptr, call.device_id, source) : source;
  there.data = seen;
  GatherArgs args =
      gather_args({there, index, out, fill}, gather.axis, gather.mode, gather.make_loop);
  args.path = copied ? gather.path : GPUKERN_GATHER_DIRECT;
  args.in_place = !copied;
  run_in_chunks(gather, args, copied ? &source : nullptr, limit, progress);
}

}  // namespace gpukern

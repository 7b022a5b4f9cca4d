// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdlib>

#include "cuda/common/scratch_layout.hpp"
#include "cuda/gather_reduce/gather_reduce.cuh"
#include "cuda/runtime/kernels.hpp"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

LongBags lay_out(ScratchLayout& layout, const GatherReduceCall& call) {
  LongBags made{};
  // Each has a full block, and maybe one that is not.
  made.most_bags = std::min(call.args.count / kBlockValues + 1, LongBags::kMostBags);
  made.most_blocks = 2 * made.most_bags;
  made.counts = layout.take<LongBags::Counts>(1);
  made.bag = layout.take<LongBag>(made.most_bags);
  made.sums = layout.take(made.most_blocks, call.all_columns * accumulator_bytes(call.args.dtype));
  return made;
}

}  // namespace

GatherReduceCall::GatherReduceCall(const GatherReduceArgs& given, cudaStream_t given_stream)
    : args(given),
      stream(given_stream),
      all_columns(given.columns.count()),
      batch{1, 0, 0, false},
      row(given.columns),
      columns(all_columns) {
  const auto is_nearer = [&](const Loop<2>& loop) {  // than the items along the axis
    return args.axis.ndim == 1 &&
           std::abs(loop.stride[kSourceColumn][0]) < std::abs(args.axis.stride[0][0]);
  };
  if (row.ndim == 0 || (row.ndim == 1 && (args.axis.ndim != 1 || is_nearer(row)))) return;
  batch = {row.extent[0], row.stride[kSourceColumn][0], row.stride[kOutColumn][0], is_nearer(row)};
  row.ndim = 0;
  for (int d = 1; d < args.columns.ndim; ++d)
    row.push(args.columns.extent[d], {args.columns.stride[0][d], args.columns.stride[1][d]});
  columns = row.count();
}

BagRanges bag_ranges(const GatherReduceArgs& args) {
  return {args.offsets, args.offset_step, args.count, args.offset_type,
          alignment_of(args.offsets) >= args.offset_type.bytes &&
              args.offset_step % args.offset_type.bytes == 0};
}

BagOutput<RowColumns<1, false>> column_output(const GatherReduceCall& call) {
  return {call.args.out,
          call.args.out_step,
          {LoopOffsets(call.row), call.columns, true},
          reduction_of(call.args.reduce, call.args.dtype)};
}

ItemRows item_rows(const GatherReduceArgs& args) {
  std::int64_t element = 1;  // as which weights are loaded
  visit_reduced_dtype(args.dtype,
                      [&](auto tag) { element = alignof(typename decltype(tag)::type); });
  return {
      .source = args.source,
      .index = args.index,
      .weights = args.weights,
      .index_step = args.index_step,
      .weight_step = args.weight_step,
      .n = args.n,
      .axis = LoopOffsets(args.axis),
      .index_type = args.index_type,
      .mode = args.mode,
      .index_aligned = alignment_of(args.index) >= args.index_type.bytes &&
                       args.index_step % args.index_type.bytes == 0,
      .weights_aligned = alignment_of(args.weights) >= element && args.weight_step % element == 0};
}

bool is_aligned(const GatherReduceCall& call, std::int64_t bytes, bool with_columns) {
  const GatherReduceArgs& args = call.args;
  bool aligned = alignment_of(args.source) >= bytes && alignment_of(args.out) >= bytes &&
                 args.out_step % bytes == 0 && call.batch.from % bytes == 0 &&
                 call.batch.to % bytes == 0;
  for (int d = 0; d < args.axis.ndim; ++d) aligned = aligned && args.axis.stride[0][d] % bytes == 0;
  for (int d = 0; with_columns && d < call.row.ndim; ++d)
    for (const auto& strides : call.row.stride) aligned = aligned && strides[d] % bytes == 0;
  return aligned;
}

bool is_plain(const GatherReduceCall& call, std::int64_t alignment) {
  const GatherReduceArgs& args = call.args;
  return args.axis.ndim <= 1 && call.row.ndim <= 1 && is_aligned(call, alignment) &&
         bag_ranges(args).aligned && (args.index == nullptr || item_rows(args).index_aligned) &&
         (args.weights == nullptr || item_rows(args).weights_aligned);
}

bool are_many_short_bags(const GatherReduceCall& call, int width) {
  // Of longer ones, whose lengths may differ more, a warp would wait for the longest of more bags.
  // Measured: benchmarks/notes/effects.md.
  constexpr std::int64_t kMostItems = 8;        // on average
  constexpr std::int64_t kLeastThreads = 1024;  // of a multiprocessor
  const GatherReduceArgs& args = call.args;
  return args.count / kMostItems <= args.bags &&
         args.bags * call.batch.count * (call.columns / width) >=
             kLeastThreads * device_facts().multiprocessors;
}

void gather_reduce(Device& device, const GatherReduceArgs& args, cudaStream_t stream) {
  const GatherReduceCall call(args, stream);
  if (args.count <= kBlockValues) return reduce_bags(call, LongBags{});
  if (are_few_segments(call)) return reduce_few_segments(call);
  if (are_few_bags(call)) return reduce_few_bags(call);
  ScratchLayout measure;
  lay_out(measure, call);
  const Buffer memory(device, measure.bytes(), stream);
  ScratchLayout layout(memory.data());
  const LongBags long_bags = lay_out(layout, call);
  check(cudaMemsetAsync(long_bags.counts, 0, sizeof *long_bags.counts, stream), "cudaMemsetAsync");
  reduce_bags(call, long_bags);
  reduce_long_bags(call, long_bags);
  join_long_bags(call, long_bags);
}

Strategy gather_reduce_strategy(const GatherReduceArgs& args) {
  return {.path = args.columns.count() == 1 ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS};
}

}  // namespace gpukern::gpu

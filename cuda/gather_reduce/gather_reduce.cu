// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/scratch_layout.hpp"
#include "cuda/gather_reduce/gather_reduce.cuh"
#include "cuda/runtime/kernels.hpp"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

/// More than the blocks of all long bags, unless offsets fall: each has one that is not full, and
/// more than kShortBlocks others.
std::int64_t most_parts(std::int64_t items) {
  const std::int64_t blocks = items / kBlockValues;
  return blocks + blocks / kShortBlocks + 1;
}

LongBags lay_out(ScratchLayout& layout, const GatherReduceCall& call) {
  LongBags made{};
  made.capacity = most_parts(call.args.count);
  made.used = layout.take<unsigned long long>(1);
  made.number = layout.take<unsigned long long>(1);
  made.parts = layout.take<BagPart>(made.capacity);
  made.bags = layout.take<LongBag>(made.capacity / kShortBlocks + 1);
  made.sums = layout.take(made.capacity, call.columns * accumulator_bytes(call.args.dtype));
  return made;
}

void clear(unsigned long long* number, cudaStream_t stream) {
  check(cudaMemsetAsync(number, 0, sizeof *number, stream), "cudaMemsetAsync");
}

}  // namespace

BagRanges bag_ranges(const GatherReduceArgs& args) {
  return {args.offsets, args.offset_step, args.count, args.offset_type,
          alignment_of(args.offsets) >= args.offset_type.bytes &&
              args.offset_step % args.offset_type.bytes == 0};
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
      .axis = args.axis,
      .index_type = args.index_type,
      .mode = args.mode,
      .index_aligned = alignment_of(args.index) >= args.index_type.bytes &&
                       args.index_step % args.index_type.bytes == 0,
      .weights_aligned = alignment_of(args.weights) >= element && args.weight_step % element == 0};
}

bool is_aligned(const GatherReduceArgs& args, std::int64_t bytes, bool with_columns) {
  bool aligned = alignment_of(args.source) >= bytes && alignment_of(args.out) >= bytes &&
                 args.out_step % bytes == 0;
  for (int d = 0; d < args.axis.ndim; ++d) aligned = aligned && args.axis.stride[0][d] % bytes == 0;
  for (int d = 0; with_columns && d < args.columns.ndim; ++d)
    for (const auto& strides : args.columns.stride) aligned = aligned && strides[d] % bytes == 0;
  return aligned;
}

void gather_reduce(Device& device, const GatherReduceArgs& args, cudaStream_t stream) {
  const GatherReduceCall call{args, args.columns.count(), stream};
  if (args.count <= kShortBlocks * kBlockValues) return reduce_bags(call, LongBags{});
  ScratchLayout measure;
  lay_out(measure, call);
  const Buffer memory(device, measure.bytes(), stream);
  ScratchLayout layout(memory.data());
  const LongBags long_bags = lay_out(layout, call);
  clear(long_bags.used, stream);
  clear(long_bags.number, stream);
  reduce_bags(call, long_bags);
  reduce_parts(call, long_bags);
  join_parts(call, long_bags);
}

Strategy gather_reduce_strategy(const GatherReduceArgs& args) {
  return {.path = args.columns.count() == 1 ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS};
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/gather_args.hpp"

namespace gpukern {

void join_items(GatherArgs& args) {
  Loop<4>& loop = args.loop;
  while (loop.ndim > 0) {
    const int d = loop.ndim - 1;
    const std::int64_t fill = loop.stride[kFillValue][d];
    const bool fill_repeats = fill == 0;
    const bool fill_follows = fill == args.item && args.fill_period == args.item;
    if (loop.stride[kIndex][d] != 0 || loop.stride[kSource][d] != args.item ||
        loop.stride[kOut][d] != args.item || !(fill_repeats || fill_follows))
      return;
    if (fill_follows) args.fill_period *= loop.extent[d];
    args.item *= loop.extent[d];
    --loop.ndim;
  }
}

void gather_loop(const GatherOperands& operands, const Axis& axis, Loop<4>& loop) {
  const auto& [source, index, out, fill] = operands;
  int o = 0;
  for (int d = 0; d < axis.first; ++d)
    loop.push(source.shape[d], {source.stride[d], 0, out.stride[o++], 0});
  for (int d = 0; d < index.ndim; ++d)
    loop.push(index.shape[d], {0, index.stride[d], out.stride[o++], 0});
  for (int d = axis.last; d < source.ndim; ++d) {
    const int f = d - (source.ndim - fill.ndim);
    loop.push(source.shape[d], {source.stride[d], 0, out.stride[o++], f >= 0 ? fill.stride[f] : 0});
  }
}

GatherArgs gather_args(const GatherOperands& operands, const Axis& axis, gpukern_index_mode mode,
                       MakeLoop make_loop) {
  const auto& [source, index, out, fill] = operands;
  // Not a single initializer, for which GCC clears the whole struct first: 3 KB in every small
  // call.
  GatherArgs args;
  args.source = source.data;
  args.index = index.data;
  args.out = out.data;
  args.item = source.item;
  args.n = axis.n;
  args.index_type = index_type(index);
  args.mode = mode;
  args.fill_value = fill.data;
  args.fill_size = fill.bytes();
  args.fill_period = source.item;
  make_loop(operands, axis, args.loop);
  args.loop.coalesce();
  for (int d = axis.first; d < axis.last; ++d) args.axis.push(source.shape[d], {source.stride[d]});
  args.axis.coalesce();
  return args;
}

GatherArgs part_of(const GatherArgs& args, const Slice<4>& slice) {
  GatherArgs part{.source = offset_by(args.source, slice.offset[kSource]),
                  .index = offset_by(args.index, slice.offset[kIndex]),
                  .out = offset_by(args.out, slice.offset[kOut]),
                  .item = args.item,
                  .loop = slice.loop,
                  .axis = args.axis,
                  .n = args.n,
                  .index_type = args.index_type,
                  .tuple = args.tuple,
                  .mode = args.mode,
                  .path = args.path,
                  .in_place = args.in_place,
                  .fill_period = args.fill_period};
  if (args.fill_value == nullptr) return part;
  part.fill_value = offset_by(args.fill_value, slice.offset[kFillValue]);
  part.fill_size = args.fill_period;
  for (int d = 0; d < slice.loop.ndim; ++d)
    part.fill_size += (slice.loop.extent[d] - 1) * slice.loop.stride[kFillValue][d];
  return part;
}

}  // namespace gpukern

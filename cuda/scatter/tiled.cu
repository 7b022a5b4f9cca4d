// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/tiles.cuh"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

struct Scratch {
  TileScratch tiles;
  MovedUpdates moved;
  LongKeys long_keys;
};

int payload_bytes_of(const ScatterCall& call) { return call.args.item == 8 ? 8 : 4; }

Scratch lay_out(ScratchLayout& layout, const ScatterCall& call) {
  const int payload_bytes = payload_bytes_of(call);
  return {.tiles = lay_out_tiles(layout, call, payload_bytes),
          .moved = {.keys = layout.take<std::uint32_t>(call.count),
                    .payload = layout.take(call.count, payload_bytes),
                    .sorted_keys = layout.take<std::uint32_t>(call.count),
                    .sorted_payload = layout.take(call.count, payload_bytes)},
          .long_keys = lay_out_long_keys(layout, call)};
}

}  // namespace

bool has_tiled(const ScatterCall& call) {
  constexpr std::int64_t kFrom = 32 << 10;
  return call.count >= kFrom && call.args.reduce != GPUKERN_REDUCE_NONE && call.columns == 1 &&
         is_short_float(call.args.dtype) && fits_tiles(call, payload_bytes_of(call));
}

void scatter_tiled(Device& device, const ScatterCall& call) {
  ScratchLayout measure;
  lay_out(measure, call);
  const Buffer memory(device, measure.bytes(), call.stream);
  ScratchLayout layout(memory.data());
  const Scratch scratch = lay_out(layout, call);
  scatter_sort_tiles(call, scratch.tiles, TilePayload::Values, scratch.long_keys.number);
  scatter_combine_tiles(call, scratch.tiles);
  scatter_finish_tiles(call, scratch.tiles, scratch.moved, scratch.long_keys);
}

}  // namespace gpukern::gpu

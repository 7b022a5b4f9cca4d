// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cub/device/device_scan.cuh>

#include "cuda/common/scratch_layout.hpp"
#include "cuda/runtime/kernels.hpp"
#include "cuda/select/select.cuh"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

/// Without scratch memory, sets scan_bytes to its size.
void sum_before(SelectCall& call) {
  check(cub::DeviceScan::ExclusiveSum(call.scan_memory, call.scan_bytes, call.before, call.before,
                                      call.tiles + 1, call.stream),
        "cub::DeviceScan::ExclusiveSum");
}

std::int64_t lead_of(const SelectArgs& args) {
  return has_vectors(args)
             ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(args.mask) % kWordBytes) /
                   args.item
             : 0;
}

void lay_out(ScratchLayout& layout, SelectCall& call) {
  call.bits = layout.take<std::uint32_t>((call.tiles + 1) * kTile / 32);
  call.before = layout.take<std::int64_t>(call.tiles + 1);
  call.scan_memory = layout.take(static_cast<std::int64_t>(call.scan_bytes));
}

SelectCall make_call(const SelectArgs& args, cudaStream_t stream) {
  const std::int64_t lead = lead_of(args);
  return {.args = args,
          .lead = lead,
          .tiles = ceil_divide(args.loop.count() + lead, kTile),
          .stream = stream};
}

}  // namespace

void select(Device& device, const SelectArgs& args, cudaStream_t stream) {
  SelectCall call = make_call(args, stream);
  if (!call.has_few_tiles()) sum_before(call);
  ScratchLayout measure;
  lay_out(measure, call);
  const Buffer memory(device, measure.bytes(), stream);
  ScratchLayout layout(memory.data());
  lay_out(layout, call);
  pack_mask(call);
  if (!call.has_few_tiles()) sum_before(call);
  write_selected(call);
}

std::int64_t count_nonzero(Device& device, const SelectArgs& args, cudaStream_t stream) {
  MailboxLease box(device, stream);
  count_mask(make_call(args, stream), box.mailbox());
  wait_for_mailboxes(stream);
  return box.read().value;
}

Strategy select_strategy(const SelectArgs& /*args*/) { return {.path = GPUKERN_PATH_ITEMS}; }

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/dry_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gpukern {

gpukern_explanation* checked_explanation(const gpukern_exec* exec) {
  if (exec == nullptr || exec->explanation == nullptr) return nullptr;
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_explanation, bytes_allocated) + sizeof(gpukern_explanation::bytes_allocated);
  require_struct_size("exec: explanation", exec->explanation->struct_size, kFirstSize);
  return exec->explanation;
}

void record_transfer(gpukern_explanation& explanation, const Tensor& source,
                     const Tensor& destination) {
  const std::int64_t bytes = source.bytes();
  if (source.device == destination.device) {
    add_reported(explanation.bytes_read, bytes);
    add_reported(explanation.bytes_written, bytes);
    return;
  }
  explanation.chunks = 1;
  add_reported(
      destination.device.cuda ? explanation.bytes_to_device : explanation.bytes_from_device, bytes);
}

void DryRunDevice::run(const Operation& operation, Stream /*stream*/) {
  const Traffic traffic = operation.traffic();
  add_reported(explanation_.bytes_read, traffic.read);
  add_reported(explanation_.bytes_written, traffic.written);
  add_reported(explanation_.bytes_to_device, traffic.from_host);
  const Strategy strategy = real_.strategy(operation);
  if (strategy.path == GPUKERN_PATH_NONE) return;  // a copy is not a separate operation
  explanation_.device = {id_.cuda ? GPUKERN_CUDA : GPUKERN_CPU, id_.id};
  explanation_.path = strategy.path;
  if (!id_.cuda) explanation_.threads = strategy.threads;
}

bool DryRunDevice::gather_checked(const GatherArgs& args, Stream stream) {
  // Most other devices check the indices first.
  if (args.out_may_change) run(args, stream);
  return args.out_may_change;
}

void DryRunDevice::check_indices(std::span<const IndexArgs> args, std::span<IndexCheck> checks,
                                 Stream /*stream*/) {
  for (const IndexArgs& index : args) add_reported(explanation_.bytes_read, index_bytes(index));
  std::ranges::fill(checks, IndexCheck());
}

std::int64_t DryRunDevice::count_nonzero(const SelectArgs& args, Stream stream) {
  run(args, stream);
  return args.loop.count();
}

void* DryRunDevice::allocate(std::size_t bytes, Stream /*stream*/) {
  // Where no array is, so that arrays of any size do not seem to overlap this memory.
  constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 62;
  add_reported(explanation_.bytes_allocated, static_cast<std::int64_t>(bytes));
  return reinterpret_cast<void*>(kNowhere);  // NOLINT(performance-no-int-to-ptr)
}

void DryRunDevice::release(void* /*data*/, Stream /*stream*/) {}

void DryRunDevice::upload(void* /*to*/, const void* /*from*/, std::size_t bytes, Stream) {
  add_reported(explanation_.bytes_to_device, static_cast<std::int64_t>(bytes));
}

void DryRunDevice::download(void* /*to*/, const void* /*from*/, std::size_t bytes, Stream) {
  add_reported(explanation_.bytes_from_device, static_cast<std::int64_t>(bytes));
}

void DryRunDevice::synchronize(Stream /*stream*/) {}

}  // namespace gpukern

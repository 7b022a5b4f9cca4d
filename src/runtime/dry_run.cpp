// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/dry_run.hpp"

#include <cstddef>

namespace gpukern {
namespace {

/// The bytes of the index that the positions of a loop read, each once.
template <int Operands>
std::int64_t index_bytes(const Loop<Operands>& loop, int operand, IndexType type) {
  std::int64_t count = 1;
  for (int d = 0; d < loop.ndim; ++d)
    if (loop.stride[operand][d] != 0) count *= loop.extent[d];
  return count * type.bytes;
}

}  // namespace

gpukern_explanation* checked_plan(const gpukern_exec* exec) {
  if (exec == nullptr || exec->explanation == nullptr) return nullptr;
  // As of ABI 1. A later field is to be written only where struct_size covers it.
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_explanation, bytes_allocated) + sizeof(gpukern_explanation::bytes_allocated);
  require(exec->explanation->struct_size >= kFirstSize, GPUKERN_VALUE_ERROR,
          "exec: explanation must have struct_size = ", kFirstSize, " or more, got ",
          exec->explanation->struct_size);
  return exec->explanation;
}

void plan_transfer(gpukern_explanation& plan, const Tensor& source, const Tensor& destination) {
  const std::int64_t bytes = source.bytes();
  if (source.device == destination.device) {
    plan.bytes_read += bytes;
    plan.bytes_written += bytes;
    return;
  }
  plan.chunks = 1;
  (destination.device.cuda ? plan.bytes_to_device : plan.bytes_from_device) += bytes;
}

void PlanningBackend::computes() {
  plan_.device = {device_.cuda ? GPUKERN_CUDA : GPUKERN_CPU, device_.id};
}

void PlanningBackend::gather(const GatherArgs& args, Stream /*stream*/) {
  computes();
  const std::int64_t moved = args.loop.count() * args.item;
  plan_.bytes_read += index_bytes(args.loop, kIndex, args.index_type);
  (args.in_place ? plan_.bytes_to_device : plan_.bytes_read) += moved;
  plan_.bytes_written += moved;
  real_.plan(args, plan_);
}

bool PlanningBackend::gather_checked(const GatherArgs& args, Stream stream) {
  if (!args.out_may_change) return false;  // most look at the indices first
  gather(args, stream);
  return true;
}

void PlanningBackend::saxpy(const SaxpyArgs& args, Stream /*stream*/) {
  computes();
  const std::int64_t bytes = args.loop.count() * args.item;
  plan_.bytes_read += 2 * bytes;
  plan_.bytes_written += bytes;
  real_.plan(args, plan_);
}

void PlanningBackend::copy(const CopyArgs& args, Stream /*stream*/) {
  const std::int64_t bytes = args.loop.count() * args.item;
  plan_.bytes_read += bytes;
  plan_.bytes_written += bytes;
}

std::optional<BadIndex> PlanningBackend::first_bad_index(const IndexArgs& args, Stream /*stream*/) {
  plan_.bytes_read += index_bytes(args.loop, 0, args.index_type);
  return std::nullopt;
}

void* PlanningBackend::allocate(std::size_t bytes, Stream /*stream*/) {
  alignas(256) static std::byte nowhere[256];
  plan_.bytes_allocated += static_cast<std::int64_t>(bytes);
  return nowhere;
}

void PlanningBackend::release(void* /*data*/, Stream /*stream*/) {}

void PlanningBackend::upload(void* /*to*/, const void* /*from*/, std::size_t bytes, Stream) {
  plan_.bytes_to_device += static_cast<std::int64_t>(bytes);
}

void PlanningBackend::download(void* /*to*/, const void* /*from*/, std::size_t bytes, Stream) {
  plan_.bytes_from_device += static_cast<std::int64_t>(bytes);
}

void PlanningBackend::synchronize(Stream /*stream*/) {}

}  // namespace gpukern

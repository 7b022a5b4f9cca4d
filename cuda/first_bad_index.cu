// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>
#include <optional>

#include "../src/buffer.hpp"
#include "index.cuh"
#include "kernels.hpp"
#include "launch.cuh"

namespace gpukern::gpu {
namespace {

/// Where the first bad index stands, and what it holds.
struct Found {
  unsigned long long position;
  std::int64_t value;
};

constexpr unsigned long long kNone = std::numeric_limits<unsigned long long>::max();

__global__ void start_search_kernel(Found* found) {
  if (threadIdx.x == 0) *found = {kNone, 0};
}

__global__ void __launch_bounds__(kThreads)
    first_bad_index_kernel(const IndexArgs args, bool aligned, std::uint64_t count, Found* found) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t p = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; p < count;
       p += stride) {
    std::int64_t offset[1];
    unravel(args.loop, p, offset);
    const std::int64_t value = load_any_index(args.index + offset[0], args.index_type, aligned);
    if (in_bounds(value, args.index_type.is_signed, args.n)) continue;
    atomicMin(&found->position, static_cast<unsigned long long>(p));
    return;
  }
}

__global__ void read_index_kernel(const IndexArgs args, bool aligned, Found* found) {
  if (threadIdx.x != 0 || found->position == kNone) return;
  std::int64_t offset[1];
  unravel(args.loop, static_cast<std::uint64_t>(found->position), offset);
  found->value = load_any_index(args.index + offset[0], args.index_type, aligned);
}

}  // namespace

std::optional<BadIndex> first_bad_index(Backend& backend, const IndexArgs& args,
                                        cudaStream_t stream) {
  // Enough blocks to fill any GPU; each thread goes on from there.
  constexpr std::int64_t kMostBlocks = 4096;
  const Buffer scratch(backend, sizeof(Found), stream);
  auto* on_device = static_cast<Found*>(scratch.data());
  const std::int64_t count = args.loop.count();
  const bool aligned = index_aligned(args.index, args.loop, 0, args.index_type);
  launch(start_search_kernel, 1, stream, on_device);
  launch(first_bad_index_kernel, std::min(ceil_divide(count, kThreads), kMostBlocks), stream, args,
         aligned, static_cast<std::uint64_t>(count), on_device);
  launch(read_index_kernel, 1, stream, args, aligned, on_device);
  Found found{};
  backend.download(&found, on_device, sizeof(Found), stream);
  if (found.position == kNone) return std::nullopt;
  return BadIndex{found.value};
}

}  // namespace gpukern::gpu

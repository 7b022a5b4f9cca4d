// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>

#include "cuda/common/indexing.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/loop.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/runtime/index_check_mailbox.hpp"
#include "cuda/runtime/kernels.hpp"

namespace gpukern::gpu {
namespace {

constexpr std::uint64_t kNone = Outcome::kNone;

/// Ends a search: reduces the first bad position of each thread. The last block reports the result.
template <class Load>
__device__ void report(std::uint64_t bad, SearchShared* shared, Outcome* outcome,
                       const Load& load) {
  if (bad != kNone) {
    atomicMax(&shared->first, static_cast<unsigned long long>(~bad));
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1 && atomicAdd(&shared->blocks_done, 1) != gridDim.x - 1) return;
  __threadfence();
  const std::uint64_t first = ~static_cast<std::uint64_t>(atomicExch(&shared->first, 0));
  shared->blocks_done = 0;
  if (first != kNone) *outcome = {first, load(first)};
}

/// Vectors that each thread has in flight.
constexpr int kVectors = 4;

/// Contiguous indices: all threads check whole vectors; the first block checks the indices before
/// and after these.
template <class Raw>
__global__ void __launch_bounds__(kThreads)
    first_bad_index_kernel(const Raw* index, std::int64_t count, std::int64_t front,
                           AcceptedRange<Raw> accepted, bool is_signed, SearchShared* shared,
                           Outcome* outcome) {
  constexpr int kCount = 16 / sizeof(Raw);
  using Indices = Vector<Raw, kCount>;
  const auto* vectors = reinterpret_cast<const Indices*>(index + front);
  const std::int64_t whole = (count - front) / kCount;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads * kVectors;
  std::uint64_t bad = kNone;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads * kVectors;
       first < whole && bad == kNone; first += stride) {
    Indices loaded[kVectors];
    std::int64_t at[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      at[v] = first + v * kThreads + threadIdx.x;
      if (at[v] >= whole) at[v] = whole - 1;
      loaded[v] = vectors[at[v]];
    }
#pragma unroll
    for (int v = kVectors - 1; v >= 0; --v)
#pragma unroll
      for (int j = kCount - 1; j >= 0; --j)
        if (!accepted.contains(loaded[v].element[j]))
          bad = static_cast<std::uint64_t>(front + at[v] * kCount + j);
  }
  if (blockIdx.x == 0) {
    const std::int64_t rest = front + whole * kCount;
    const std::int64_t edge =
        threadIdx.x < front ? threadIdx.x : rest + static_cast<std::int64_t>(threadIdx.x) - front;
    if (edge < count && !accepted.contains(index[edge]) && static_cast<std::uint64_t>(edge) < bad)
      bad = static_cast<std::uint64_t>(edge);
  }
  report(bad, shared, outcome,
         [&](std::uint64_t position) { return as_index(index[position], is_signed); });
}

/// Indices with any strides, and offsets.
__global__ void __launch_bounds__(kThreads)
    first_bad_strided_index_kernel(const __grid_constant__ IndexArgs args, bool aligned,
                                   std::uint64_t count, SearchShared* shared, Outcome* outcome) {
  const auto load = [&](std::uint64_t position) {
    std::int64_t offset[1];
    unravel(args.loop, position, offset);
    return load_index(args.index + offset[0], args.index_type, aligned);
  };
  const auto accepts = [&](std::uint64_t position) {
    const std::int64_t value = load(position);
    if (!args.are_offsets) return in_bounds(value, args.index_type.is_signed, args.n);
    return is_offset(value, position > 0 ? load(position - 1) : 0, args.n);
  };
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  std::uint64_t bad = kNone;
  for (std::uint64_t p = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
       p < count && bad == kNone; p += stride)
    if (!accepts(p)) bad = p;
  report(bad, shared, outcome, load);
}

// Enough blocks to fill any GPU; each runs a grid-stride loop.
constexpr std::int64_t kMaxBlocks = 2048;

template <class Raw>
void launch_search(const IndexArgs& args, const Mailbox& box, cudaStream_t stream) {
  const std::int64_t count = args.loop.count();
  const auto address = reinterpret_cast<std::uintptr_t>(args.index);
  const auto to_aligned = static_cast<std::int64_t>((16 - address % 16) % 16 / sizeof(Raw));
  const std::int64_t front = std::min(to_aligned, count);
  const std::int64_t per_block = std::int64_t{kThreads} * kVectors * 16 / sizeof(Raw);
  launch(first_bad_index_kernel<Raw>, std::min(ceil_divide(count, per_block), kMaxBlocks), stream,
         reinterpret_cast<const Raw*>(args.index), count, front,
         AcceptedRange<Raw>(args.index_type, args.n), args.index_type.is_signed, box.shared,
         box.outcome_on_device);
}

void search(const IndexArgs& args, const Mailbox& box, cudaStream_t stream) {
  const bool aligned = index_aligned(args.index, args.loop, 0, args.index_type);
  if (args.n > 0 && aligned && !args.are_offsets &&
      args.loop.contiguous(0, args.index_type.bytes)) {
    visit_index_width(args.index_type.bytes,
                      [&](auto raw) { launch_search<decltype(raw)>(args, box, stream); });
    return;
  }
  const std::int64_t count = args.loop.count();
  launch(first_bad_strided_index_kernel, std::min(ceil_divide(count, kThreads), kMaxBlocks), stream,
         args, aligned, static_cast<std::uint64_t>(count), box.shared, box.outcome_on_device);
}

}  // namespace

std::optional<BadIndex> first_bad_index(Device& device, const IndexArgs& args,
                                        cudaStream_t stream) {
  if (!args.are_offsets && accepts_all(args.index_type, args.n)) return std::nullopt;
  MailboxLease box(device, stream);
  search(args, box.mailbox(), stream);
  const Outcome outcome = box.read(stream);
  if (outcome.position == kNone) return std::nullopt;
  return BadIndex{outcome.value, static_cast<std::int64_t>(outcome.position)};
}

}  // namespace gpukern::gpu

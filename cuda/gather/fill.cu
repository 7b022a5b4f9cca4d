// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>

#include "cuda/gather/fill.cuh"

namespace gpukern::gpu {
namespace {

/// Host bytes as a kernel parameter: what a graph captures, and no host memory has to outlive.
struct Parcel {
  std::byte bytes[2048];
};

/// Writes the parcel `repeats` times, `period` bytes apart.
__global__ void __launch_bounds__(kThreads)
    deliver_kernel(const __grid_constant__ Parcel parcel, unsigned size, std::int64_t repeats,
                   std::int64_t period, std::byte* to) {
  for (std::int64_t r = blockIdx.x; r < repeats; r += gridDim.x)
    for (unsigned b = threadIdx.x; b < size; b += kThreads) to[r * period + b] = parcel.bytes[b];
}

/// Repeats `period` host bytes over `bytes` device bytes.
const std::byte* deliver(Backend& backend, const std::byte* from, std::int64_t period,
                         std::int64_t bytes, Buffer& scratch, cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 1024;
  scratch = Buffer(backend, ceil_divide(bytes, 16) * 16, stream);
  auto* const to = static_cast<std::byte*>(scratch.data());
  const std::int64_t repeats = bytes / period;
  for (std::int64_t done = 0; done < period; done += sizeof(Parcel)) {
    Parcel parcel{};
    const auto size = static_cast<unsigned>(std::min<std::int64_t>(period - done, sizeof(Parcel)));
    std::memcpy(parcel.bytes, from + done, size);
    launch(deliver_kernel, std::min(repeats, kMostBlocks), stream, parcel, size, repeats, period,
           to + done);
  }
  return to;
}

/// Whether the value fits into Fill::repeated; puts it there then. No value means zeros.
bool repeat(const GatherArgs& args, Fill& fill) {
  if (args.mode != GPUKERN_INDEX_FILL || args.fill_value == nullptr) return true;
  if (args.fill_size != args.fill_period || 16 % args.fill_period != 0) return false;
  for (std::int64_t b = 0; b < 16; ++b) fill.repeated[b] = args.fill_value[b % args.fill_period];
  return true;
}

}  // namespace

Fill fill_item(Backend& backend, const GatherArgs& args, Buffer& scratch, cudaStream_t stream) {
  Fill fill;
  if (!repeat(args, fill))
    fill.data = deliver(backend, args.fill_value, args.fill_period, args.item, scratch, stream);
  return fill;
}

Fill fill_as_given(Backend& backend, const GatherArgs& args, Buffer& scratch, cudaStream_t stream) {
  Fill fill;
  if (!repeat(args, fill))
    fill.data = deliver(backend, args.fill_value, args.fill_size, args.fill_size, scratch, stream);
  return fill;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>

#include "cuda/common/launch.cuh"
#include "cuda/gather/fill.cuh"
#include "cuda/gather/problem.hpp"

namespace gpukern::gpu {
namespace {

/// Host bytes as a kernel parameter: a graph captures them, and the host memory may be released.
struct HostBytes {
  std::byte bytes[2048];
};

/// Writes the bytes `repeats` times, `period` bytes apart.
__global__ void __launch_bounds__(kThreads)
    fill_kernel(const __grid_constant__ HostBytes host, unsigned size, std::int64_t repeats,
                std::int64_t period, std::byte* to) {
  for (std::int64_t r = blockIdx.x; r < repeats; r += gridDim.x)
    for (unsigned b = threadIdx.x; b < size; b += kThreads) to[r * period + b] = host.bytes[b];
}

/// Repeats `period` host bytes over `bytes` device bytes.
const std::byte* repeat_on_device(Device& device, const std::byte* from, std::int64_t period,
                                  std::int64_t bytes, Buffer& memory, cudaStream_t stream) {
  constexpr std::int64_t kMaxBlocks = 1024;
  memory = Buffer(device, ceil_divide(bytes, 16) * 16, stream);
  auto* const to = static_cast<std::byte*>(memory.data());
  // Kernels load whole words: what they do not use is initialized as well.
  if (bytes % 16 != 0)
    check(cudaMemsetAsync(to + bytes / 16 * 16, 0, 16, stream), "cudaMemsetAsync");
  const std::int64_t repeats = bytes / period;
  for (std::int64_t done = 0; done < period; done += sizeof(HostBytes)) {
    HostBytes host{};
    const auto size =
        static_cast<unsigned>(std::min<std::int64_t>(period - done, sizeof(HostBytes)));
    std::memcpy(host.bytes, from + done, size);
    launch(fill_kernel, std::min(repeats, kMaxBlocks), stream, host, size, repeats, period,
           to + done);
  }
  return to;
}

/// Stores the value in Fill::repeated if that can hold it.
bool repeat_in_parameter(const GatherArgs& args, Fill& fill) {
  if (!has_repeated_fill(args)) return false;
  if (args.mode == GPUKERN_INDEX_FILL && args.fill_value != nullptr)
    for (std::int64_t b = 0; b < 16; ++b) fill.repeated[b] = args.fill_value[b % args.fill_period];
  return true;
}

}  // namespace

Fill make_fill(Device& device, const GatherArgs& args, bool of_item, Buffer& memory,
               cudaStream_t stream) {
  Fill fill;
  if (repeat_in_parameter(args, fill)) return fill;
  const std::int64_t period = of_item ? args.fill_period : args.fill_size;
  const std::int64_t bytes = of_item ? args.item : args.fill_size;
  fill.data = repeat_on_device(device, args.fill_value, period, bytes, memory, stream);
  return fill;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The one way to launch a kernel, and what kernels share.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "cuda/common/check.hpp"
#include "cuda/runtime/device_facts.hpp"
#include "src/core/loop.hpp"

namespace gpukern::gpu {

inline constexpr int kThreads = 256;

/// Threads that a multiprocessor holds (CUDA C++ Programming Guide, compute capabilities).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
inline constexpr int kResidentThreads = 1024;
#elif defined(__CUDA_ARCH__) && \
    ((__CUDA_ARCH__ >= 860 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100)
inline constexpr int kResidentThreads = 1536;
#else
inline constexpr int kResidentThreads = 2048;
#endif

/// For __launch_bounds__: ptxas refuses more blocks than fit.
constexpr int resident_blocks(int wanted, int threads) {
  return wanted * threads <= kResidentThreads ? wanted : kResidentThreads / threads;
}

/// Of the shared memory of a block, what is left to the variables that kernels declare.
inline constexpr std::int64_t kDeclaredSharedBytes = 2048;

/// The shape of a launch.
struct Grid {
  std::int64_t blocks;
  int threads = kThreads;
  std::size_t shared_bytes = 0;  ///< dynamic; the kernel's limit is raised for it
  /// All threads call wait_for_previous() before they look at global memory, or return, so the
  /// kernel may come while the previous one of the stream still runs: see DeviceFacts. The one that
  /// looks earlier, partition_direct_kernel, says why it may.
  bool programmatic_launch = false;
};

/// Launches a kernel. The error of this launch is returned by this launch: nothing is asked of the
/// last-error slot, where another library's error may wait.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
            const Arguments&... arguments) {
  require(grid.blocks <= std::numeric_limits<std::int32_t>::max(), GPUKERN_VALUE_ERROR,
          "the arrays are too large for one kernel launch");
  // 48 KiB are allowed in any case, less what the kernel declares. The limit is the kernel's, not
  // this launch's: one that differed could fall between another thread's limit and its launch.
  constexpr std::size_t kSharedByDefault = std::size_t{32} << 10;
  if (grid.shared_bytes > kSharedByDefault) {
    check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(device_facts().shared_bytes - kDeclaredSharedBytes)),
        "cudaFuncSetAttribute");
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(static_cast<unsigned>(grid.threads));
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = grid.programmatic_launch && device_facts().overlaps_kernels ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), "cudaLaunchKernelEx");
}
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, cudaStream_t stream,
            const Arguments&... arguments) {
  launch(kernel, Grid{blocks}, stream, arguments...);
}

/// Lets blocks of the next kernel come, once all blocks of this one have asked for it or ended.
/// That kernel waits for the end of this one before it looks at memory. To be called behind this
/// kernel's own wait_for_previous(), so that what comes is behind all before it, too.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Waits for the end of the previous kernel of the stream.
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

inline std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The widest power of two, at most 16, that divides the number (16 for 0).
inline std::int64_t alignment_of(std::int64_t number) {
  const std::int64_t bits = number | 16;
  return bits & -bits;
}
inline std::int64_t alignment_of(const void* address) {
  return alignment_of(reinterpret_cast<std::intptr_t>(address));
}

/// Calls visit(Chunk{}) with an unsigned type of `bytes` bytes.
template <class Visit>
void visit_chunk(std::int64_t bytes, const Visit& visit) {
  switch (bytes) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    case 8:
      return visit(uint2{});
    default:
      return visit(uint4{});
  }
}

/// The operands' byte offsets at a position of a loop. `Offset` is an unsigned type that holds
/// every position: dividing 32-bit numbers is several times faster.
template <int Operands, class Offset>
__device__ void unravel(const Loop<Operands>& loop, Offset position,
                        std::int64_t (&offset)[Operands]) {
  for (int k = 0; k < Operands; ++k) offset[k] = 0;
  for (int d = loop.ndim - 1; d >= 0; --d) {
    const auto extent = static_cast<Offset>(loop.extent[d]);
    const Offset rest = d > 0 ? position / extent : 0;
    const auto at = static_cast<std::int64_t>(position - rest * extent);
    for (int k = 0; k < Operands; ++k) offset[k] += at * loop.stride[k][d];
    position = rest;
  }
}

/// Calls visit(Offset{}) with the narrowest unsigned type for positions below `count`; 32 bits only
/// where a thread beyond the end does not overflow either.
template <class Visit>
void visit_offset(std::int64_t count, const Visit& visit) {
  if (count < (std::int64_t{1} << 31))
    visit(std::uint32_t{});
  else
    visit(std::uint64_t{});
}

/// Reads bytes that need not be aligned.
template <class T>
__device__ T load_bytes(const std::byte* from) {
  T value;
  auto* to = reinterpret_cast<unsigned char*>(&value);
  for (unsigned b = 0; b < sizeof(T); ++b) to[b] = reinterpret_cast<const unsigned char*>(from)[b];
  return value;
}

template <class T>
__device__ void store_bytes(std::byte* to, T value) {
  const auto* from = reinterpret_cast<const unsigned char*>(&value);
  for (unsigned b = 0; b < sizeof(T); ++b) reinterpret_cast<unsigned char*>(to)[b] = from[b];
}

}  // namespace gpukern::gpu

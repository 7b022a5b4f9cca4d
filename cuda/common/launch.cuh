// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The launcher of all kernels, and how consecutive kernels of a stream overlap.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "cuda/common/arithmetic.hpp"
#include "cuda/common/check.hpp"
#include "cuda/runtime/device_facts.hpp"

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

/// For __launch_bounds__: ptxas rejects a number of blocks that does not fit.
constexpr int resident_blocks(int wanted, int threads) {
  return wanted * threads <= kResidentThreads ? wanted : kResidentThreads / threads;
}

/// The configuration of a launch.
struct Grid {
  std::int64_t blocks;
  int threads = kThreads;
  std::size_t shared_bytes = 0;  ///< dynamic; raises the kernel's limit as needed
  /// Programmatic dependent launch: the kernel may start while the previous one of the stream still
  /// runs, see DeviceFacts. All its threads call wait_for_previous() before they access global
  /// memory. The only kernel that accesses memory earlier, partition_direct_kernel, explains why
  /// this is safe.
  bool programmatic_launch = false;
  int parts = 1;  ///< the second dimension of the grid
};

/// Blocks that fill the GPU.
inline std::int64_t resident_grid() { return std::int64_t{8} * device_facts().multiprocessors; }

/// A Grid for the CUDA runtime.
class LaunchConfig {
 public:
  LaunchConfig(const Grid& grid, cudaStream_t stream) {
    config_.gridDim = dim3(static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.parts));
    config_.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config_.dynamicSmemBytes = grid.shared_bytes;
    config_.stream = stream;
    config_.attrs = &overlap_;
    if (grid.programmatic_launch && device_facts().overlaps_kernels) {
      config_.numAttrs = 1;
      overlap_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      overlap_.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  [[nodiscard]] const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchConfig_t config_{};
  cudaLaunchAttribute overlap_{};
};

/// Throws unless a launch may have that many blocks.
inline void require_one_launch(std::int64_t blocks) {
  require(blocks <= std::numeric_limits<std::int32_t>::max(), GPUKERN_VALUE_ERROR,
          "the arrays are too large for one kernel launch");
}

/// Launches a kernel and throws for an error of this launch only. Does not read CUDA's last error,
/// which may be that of another library.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
            const Arguments&... arguments) {
  require_one_launch(grid.blocks);
  // 48 KiB are allowed in any case, less what the kernel declares. Every launch of a kernel sets
  // the same limit: with another one, a concurrent launch could fail.
  constexpr std::size_t kSharedByDefault = std::size_t{32} << 10;
  if (grid.shared_bytes > kSharedByDefault) {
    check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(device_facts().shared_bytes - kDeclaredSharedBytes)),
        "cudaFuncSetAttribute");
  }
  const LaunchConfig config(grid, stream);
  check(cudaLaunchKernelEx(config.get(), kernel, arguments...), "cudaLaunchKernelEx");
}
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, cudaStream_t stream,
            const Arguments&... arguments) {
  launch(kernel, Grid{blocks}, stream, arguments...);
}

/// Lets the next kernel of the stream start once all blocks of this one have called this or ended.
/// That kernel waits for the end of this one before it accesses memory. Call it after
/// wait_for_previous(), so that the next kernel is ordered after all earlier ones, too
/// (partition_sample_count_kernel says why it calls it earlier).
__device__ inline void launch_next() {
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

}  // namespace gpukern::gpu

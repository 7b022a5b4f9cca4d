// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstring>

#include "cuda/common/launch.cuh"
#include "cuda/runtime/kernels.hpp"

namespace gpukern::gpu {
namespace {

/// A kernel's parameter, which a launch copies.
struct Element {
  std::byte bytes[Device::kMostSetBytes];
};

__global__ void set_kernel(std::byte* to, const __grid_constant__ Element element) {
  to[threadIdx.x] = element.bytes[threadIdx.x];
}

}  // namespace

void set(void* to, const void* element, std::size_t bytes, cudaStream_t stream) {
  Element copy{};
  std::memcpy(copy.bytes, element, bytes);
  launch(set_kernel, Grid{.blocks = 1, .threads = static_cast<int>(bytes)}, stream,
         static_cast<std::byte*>(to), copy);
}

}  // namespace gpukern::gpu

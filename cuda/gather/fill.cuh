// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The fill value of mode "fill" on the device.
#pragma once

#include <cstdint>

#include "cuda/common/launch.cuh"
#include "src/runtime/backend.hpp"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {

/// The fill value. One whose period divides 16 bytes comes as a kernel parameter, repeated: every
/// scalar of 1, 2, 4, 8 or 16 bytes. Any other lies in device memory.
struct Fill {
  const std::byte* data = nullptr;
  alignas(16) std::byte repeated[16]{};

  /// The pattern's chunk for a place in the item, where `data` is null.
  template <class Chunk>
  __device__ Chunk chunk(std::int64_t in_item) const {
    constexpr int kChunks = 16 / sizeof(Chunk);
    return reinterpret_cast<const Chunk*>(
        repeated)[static_cast<unsigned>(in_item) / sizeof(Chunk) % kChunks];
  }
};

/// The fill value as one item: `data` is a row of args.item bytes, aligned to 16 and readable up to
/// a multiple of 16. The scratch buffer must outlive the launches that use it.
Fill fill_item(Backend& backend, const GatherArgs& args, Buffer& scratch, cudaStream_t stream);

/// The fill value as it was given: `data` is all of args.fill_size bytes.
Fill fill_as_given(Backend& backend, const GatherArgs& args, Buffer& scratch, cudaStream_t stream);

}  // namespace gpukern::gpu

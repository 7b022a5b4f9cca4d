// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The fill value of mode "fill" on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {

/// The fill value. One whose period divides 16 bytes is a kernel parameter, repeated: every scalar
/// of 1, 2, 4, 8 or 16 bytes. Any other is in device memory.
struct Fill {
  const std::byte* data = nullptr;
  alignas(16) std::byte repeated[16]{};

  /// The word at byte `in_item` of an item, if `data` is null.
  template <class W>
  __device__ W word(std::int64_t in_item) const {
    constexpr int kWords = 16 / sizeof(W);
    return reinterpret_cast<const W*>(
        repeated)[static_cast<unsigned>(in_item) / sizeof(W) % kWords];
  }
};

/// The fill value of an item (`data` is a row of args.item bytes, aligned to 16 and readable up to
/// a multiple of 16), or that of every position (all of args.fill_size bytes). `memory` must
/// outlive the launches that use it.
Fill make_fill(Device& device, const GatherArgs& args, bool of_item, Buffer& memory,
               cudaStream_t stream);

}  // namespace gpukern::gpu

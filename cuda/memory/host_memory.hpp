// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Host memory of the current device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace gpukern::gpu {

// As the functions of Device with these names; the device is current. For release_pinned() and
// unpin() see backend.hpp.
void* allocate_pinned(std::size_t bytes);
void pin(void* data, std::size_t bytes);
std::byte* pinned_view(const std::byte* begin, const std::byte* end);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The interface of the CUDA backend for src/runtime/device.cpp. It includes no CUDA header.
#pragma once

#include "src/runtime/device.hpp"
#include "src/runtime/virtual_memory.hpp"

namespace gpukern::gpu {

/// The backend of one device. Throws in the child of a fork() that happened after CUDA was used.
Device& backend(int device_id);

/// A range of the calling thread in a profiler's timeline; see ../src/runtime/profiler_range.hpp.
void begin_range(const char* name);
void end_range();

CudaStatus query_status();
void query_device(int device_id, gpukern_device_info& info);
gpukern_device pointer_device(const void* data);

// As the functions with these names in src/runtime/device.hpp.
int pinning_device(int wanted);
void release_pinned(void* data);
void unpin(void* data);

VirtualMemory& virtual_memory();

}  // namespace gpukern::gpu

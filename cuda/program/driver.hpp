// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Modules, functions and launches through the CUDA driver API.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "src/program/backend.hpp"

namespace gpukern::gpu {

struct ProgramDriver {
  decltype(&cuModuleLoadDataEx) load = nullptr;
  decltype(&cuModuleUnload) unload = nullptr;
  decltype(&cuModuleGetFunction) function = nullptr;
  decltype(&cuFuncGetAttribute) attribute = nullptr;
  decltype(&cuFuncSetAttribute) set_attribute = nullptr;
  /// cuFuncGetParamInfo, since CUDA 12.4
  CUresult (*parameter)(CUfunction function, std::size_t index, std::size_t* offset,
                        std::size_t* size) = nullptr;
  decltype(&cuOccupancyMaxPotentialBlockSize) best_block = nullptr;
  decltype(&cuStreamIsCapturing) is_capturing = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
  decltype(&cuLaunchKernelEx) launch_with = nullptr;
  decltype(&cuLaunchCooperativeKernel) launch_cooperative = nullptr;
};

/// Throws if there is no driver or it is too old.
const ProgramDriver& program_driver();

// The functions below require the context of the code to be current.

/// Throws GPUKERN_VALUE_ERROR for code that the device does not support.
CUmodule load_module(const Compiled& compiled, int device);

/// Loads the function's code onto the device, so that its first launch loads nothing.
KernelFacts facts_of(CUfunction function, int device);

KernelProperties properties_of(CUfunction function);

/// Whether a CUDA graph captures the stream. Throws for the legacy stream while a capture blocks
/// it; the capture stays valid.
bool is_captured(CUstream stream);

void launch_kernel(CUfunction function, const KernelFacts& facts, const gpukern_launch& launch,
                   const void* const* arguments, CUstream stream);

}  // namespace gpukern::gpu

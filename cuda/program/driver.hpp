// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Modules, functions and launches by the driver, which loads code at run time.
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
  /// cuFuncGetParamInfo, of CUDA 12.4.
  CUresult (*parameter)(CUfunction function, std::size_t index, std::size_t* offset,
                        std::size_t* size) = nullptr;
  decltype(&cuOccupancyMaxPotentialBlockSize) best_block = nullptr;
  decltype(&cuStreamIsCapturing) is_capturing = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
  decltype(&cuLaunchKernelEx) launch_with = nullptr;
  decltype(&cuLaunchCooperativeKernel) launch_cooperative = nullptr;
};

/// Throws where there is no driver, or one that is too old.
const ProgramDriver& program_driver();

// The rest with the context current that the code is of, or shall be of.

/// Throws GPUKERN_VALUE_ERROR for code that does not run on the device.
CUmodule load_module(const Compiled& compiled, int device);

/// Has the function's code on the device afterwards: its first launch loads nothing.
KernelFacts facts_of(CUfunction function, int device);

KernelProperties properties_of(CUfunction function);

/// Whether work on a stream goes into a CUDA graph; throws for the legacy stream while it is
/// blocked, which leaves the capture that blocks it whole.
bool is_captured(CUstream stream);

void launch_kernel(CUfunction function, const KernelFacts& facts, const gpukern_launch& launch,
                   const void* const* arguments, CUstream stream);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Compiles CUDA C++ to PTX and machine code.
#pragma once

#include "src/program/backend.hpp"

namespace gpukern::gpu {

Compiled compile_with_nvrtc(const ProgramRequest& request);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// For every CPU; see saxpy_kernel_baseline.cpp.
#define GPUKERN_ISA baseline
#include "src/cpu/axpby_kernel.hpp"

namespace gpukern::cpu {

const AxpbyKernels& axpby_kernels_baseline() { return baseline::kAxpbyKernels; }

}  // namespace gpukern::cpu

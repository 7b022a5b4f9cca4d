// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// For every CPU. Without fma instructions the compiler calls libm's fma, which is correct
// everywhere.
#define GPUKERN_ISA baseline
#include "src/cpu/saxpy_kernel.hpp"

namespace gpukern::cpu {

const SaxpyKernels& saxpy_kernels_baseline() { return baseline::kKernels; }

}  // namespace gpukern::cpu

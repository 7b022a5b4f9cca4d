// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// For x86-64 CPUs with AVX-512 F, BW, DQ and VL.
#define GPUKERN_ISA avx512
#include "src/cpu/saxpy_kernel.hpp"

namespace gpukern::cpu {

const SaxpyKernels& saxpy_kernels_avx512() { return avx512::kKernels; }

}  // namespace gpukern::cpu

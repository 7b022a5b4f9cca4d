// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// For x86-64 CPUs with AVX-512 F, BW, DQ and VL.
#define GPUKERN_ISA avx512
#include "src/cpu/axpby_kernel.hpp"

namespace gpukern::cpu {

const AxpbyKernels& axpby_kernels_avx512() { return avx512::kAxpbyKernels; }

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// For x86-64 CPUs with AVX2, FMA and F16C.
#define GPUKERN_ISA avx2
#include "src/cpu/axpby_kernel.hpp"

namespace gpukern::cpu {

const AxpbyKernels& axpby_kernels_avx2() { return avx2::kAxpbyKernels; }

}  // namespace gpukern::cpu

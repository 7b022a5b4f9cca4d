// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// For x86-64 CPUs with AVX2, FMA and F16C.
#define GPUKERN_ISA avx2
#include "src/cpu/bag_kernel.hpp"

namespace gpukern::cpu {

BagKernels bag_kernels_avx2(const GatherReduceArgs& args) { return avx2::kernels_for(args); }

}  // namespace gpukern::cpu

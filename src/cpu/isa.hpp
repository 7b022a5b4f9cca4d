// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The instruction sets that the CPU kernels are compiled for; one is chosen at run time.
#pragma once

namespace gpukern::cpu {

/// Each includes those before it. Avx2 includes FMA, F16C and BMI2; Avx512 is F, BW, DQ and VL.
enum class Isa { Baseline, Avx2, Avx512 };

/// The widest set that this CPU supports. $GPUKERN_CPU_ISA (baseline, avx2 or avx512), read once,
/// limits it, so that tests reach all kernels on one machine.
Isa widest_isa();

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The instruction sets that one binary has kernels for, chosen from at run time.
#pragma once

namespace gpukern::cpu {

/// Each holds those before it. Avx2 means FMA, F16C and BMI2 as well, Avx512 F, BW, DQ and VL.
enum class Isa { Baseline, Avx2, Avx512 };

/// The widest set that this CPU has. $GPUKERN_CPU_ISA (baseline, avx2, avx512), read once, bounds
/// it from above, so that tests reach all kernels on one machine.
Isa widest_isa();

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/isa.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include "src/core/environment.hpp"
#include "src/core/error.hpp"

namespace gpukern::cpu {
namespace {

Isa isa_of_cpu() {
#ifdef GPUKERN_X86
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512) return Isa::Avx512;
  if (avx2) return Isa::Avx2;
#endif
  return Isa::Baseline;
}

Isa isa_of_environment() {
  const std::string& name = environment().cpu_isa;
  if (name == "baseline") return Isa::Baseline;
  if (name == "avx2") return Isa::Avx2;
  require(name.empty() || name == "avx512", GPUKERN_VALUE_ERROR,
          "GPUKERN_CPU_ISA must be baseline, avx2 or avx512, got ", name);
  return Isa::Avx512;
}

constexpr int kUnknown = -1;
constinit std::atomic<int> widest{kUnknown};

}  // namespace

Isa widest_isa() {
  int found = widest.load(std::memory_order_relaxed);
  if (found == kUnknown) {  // concurrent first calls find the same
    found = static_cast<int>(std::min(isa_of_cpu(), isa_of_environment()));
    widest.store(found, std::memory_order_relaxed);
  }
  return static_cast<Isa>(found);
}

}  // namespace gpukern::cpu

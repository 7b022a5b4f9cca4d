// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The floating-point mode of a thread while it computes.
#pragma once

#include <cfenv>
#include <cstdint>

namespace gpukern::cpu {

/// Round to nearest and keep subnormals, whatever mode another library left this thread in. At the
/// end the mode and the exception flags are as they were.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
#ifdef GPUKERN_X86
    // The whole environment takes longer to save and load than a small call to compute.
    csr_ = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(x87_));
    // Of the x87 unit, which libm's fma may use, the precision and the rounding count.
    constexpr unsigned kFlags = 0x3f;
    constexpr unsigned kDefault = 0x1f80;
    quick_ = (csr_ & ~kFlags) == kDefault && x87_ == 0x37f;
    if (quick_) return;
#endif
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
  ~DefaultFloatingPoint() {
#ifdef GPUKERN_X86
    if (quick_) {
      __builtin_ia32_ldmxcsr(csr_);
      return;
    }
#endif
    std::fesetenv(&saved_);
  }

 private:
#ifdef GPUKERN_X86
  unsigned csr_ = 0;
  std::uint16_t x87_ = 0;
  bool quick_ = false;
#endif
  std::fenv_t saved_;
};

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The floating-point mode of a thread while it computes.
#pragma once

#include <cfenv>
#include <cstdint>

namespace gpukern::cpu {

/// Sets round-to-nearest and enables subnormals, regardless of the mode that another library set.
/// The destructor restores the mode and the exception flags.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
#ifdef GPUKERN_X86
    // Saving and loading the whole environment takes longer than computing a small call.
    csr_ = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(x87_));
    // Of the x87 unit, which libm's fma may use, precision and rounding matter.
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

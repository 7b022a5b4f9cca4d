// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/cache.hpp"

#include <unistd.h>

#include <algorithm>

#ifdef GPUKERN_X86
#include <cpuid.h>
#endif

namespace gpukern::cpu {
namespace {

std::int64_t query_core_cache() noexcept {
  constexpr std::int64_t kTypical = std::int64_t{1} << 20;
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? std::int64_t{bytes} : kTypical;
}

/// Bytes of the third-level cache that the cores of a complex share, on AMD processors; else 0.
/// sysconf() gives the sum over all complexes (AMD64 Architecture Programmer's Manual 3, CPUID
/// 8000_001D).
std::int64_t query_complex_cache() noexcept {
#ifdef GPUKERN_X86
  unsigned properties = 0;
  unsigned shape = 0;
  unsigned sets = 0;
  unsigned other = 0;
  if (!__builtin_cpu_is("amd") ||
      __get_cpuid_count(0x8000001D, 3, &properties, &shape, &sets, &other) == 0 ||
      (properties & 31) == 0)
    return 0;
  const std::int64_t ways = (shape >> 22) + 1;
  const std::int64_t partitions = (shape >> 12 & 1023) + 1;
  const std::int64_t line = (shape & 4095) + 1;
  return ways * partitions * line * (std::int64_t{sets} + 1);
#else
  return 0;
#endif
}

// Read when the library is loaded, not at first use: see src/core/make_once.hpp.
const std::int64_t kCoreCache = query_core_cache();
const std::int64_t kComplexCache = query_complex_cache();

}  // namespace

std::int64_t core_cache_bytes() { return kCoreCache; }

std::int64_t near_cache_bytes() { return std::max(kComplexCache, 2 * kCoreCache); }

bool checks_ahead() { return kComplexCache == 0; }

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The caches of a core, and stores that go past them.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

#ifdef GPUKERN_X86
#include <emmintrin.h>
#endif

namespace gpukern::cpu {

constexpr std::int64_t kCacheLine = 64;

/// Bytes of one core's second-level cache, or of a common one where the system does not tell.
inline std::int64_t core_cache_bytes() {
  static const std::int64_t bytes = [] {
    constexpr std::int64_t kCommon = std::int64_t{1} << 20;
    const long told = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return told > 0 ? std::int64_t{told} : kCommon;
  }();
  return bytes;
}

/// Bytes of the caches that a core reads quickly enough by itself: where random items of more are
/// fetched ahead, it is a gain. AMD's third level is shared by few cores, and near.
inline std::int64_t near_cache_bytes() {
  static const std::int64_t bytes = [] {
#ifdef GPUKERN_X86
    const long third = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (__builtin_cpu_is("amd") && third > 0) return std::int64_t{third};
#endif
    return 2 * core_cache_bytes();
  }();
  return bytes;
}

/// The nearest level that prefetch() is to bring a line to. More lines can be on their way to the
/// second than to the first.
enum class CacheLevel { Second = 2, First = 3 };

/// Asks for the line of an address, which need not be one of the process. GCC takes a function that
/// does nothing else for one without effect, and drops the calls of it: the empty assembly has one.
template <CacheLevel level = CacheLevel::First>
inline void prefetch(const void* address) {
  __builtin_prefetch(address, 0, static_cast<int>(level));
  __asm__ volatile("");
}

#ifdef GPUKERN_X86
/// Whether store_lines() leaves the caches alone.
constexpr bool kHasStreamingStores = true;

/// Writes whole cache lines to memory, without the read that an ordinary store begins with. Both
/// pointers are aligned to 64 bytes. Other threads see the lines after store_fence().
inline void store_lines(std::byte* to, const std::byte* from, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += kCacheLine) {
    for (std::int64_t k = 0; k < kCacheLine; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(from + i + k)));
  }
}

/// As store_lines(), from any address to one aligned to 16 bytes, in multiples of so many. What
/// follows from call to call fills whole lines.
inline void store_row(std::byte* to, const std::byte* from, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
}

inline void store_fence() { _mm_sfence(); }
#else
constexpr bool kHasStreamingStores = false;
inline void store_lines(std::byte* to, const std::byte* from, std::int64_t bytes) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
}
inline void store_row(std::byte* to, const std::byte* from, std::int64_t bytes) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
}
inline void store_fence() {}
#endif

}  // namespace gpukern::cpu

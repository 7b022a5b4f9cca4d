// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/row_store.hpp"

#ifdef GPUKERN_X86
#include <immintrin.h>

#include "src/cpu/isa.hpp"
#else
#include <cstring>
#endif

namespace gpukern::cpu {
namespace {

#ifdef GPUKERN_X86
void store_by_16(std::byte* to, const std::byte* from, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
}

[[gnu::target("avx2")]] void store_by_32(std::byte* to, const std::byte* from, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
}

[[gnu::target("avx512f")]] void store_by_64(std::byte* to, const std::byte* from,
                                            std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
}
#else
void store(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
#endif

}  // namespace

StoreRow row_store_for([[maybe_unused]] const std::byte* to, [[maybe_unused]] std::int64_t bytes) {
#ifdef GPUKERN_X86
  const std::uintptr_t both =
      reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(bytes);
  if (both % 64 == 0 && widest_isa() >= Isa::Avx512) return store_by_64;
  if (both % 32 == 0 && widest_isa() >= Isa::Avx2) return store_by_32;
  return store_by_16;
#else
  return store;
#endif
}

}  // namespace gpukern::cpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of saxpy on contiguous memory, compiled once per instruction set: the including
// file defines GPUKERN_ISA, the namespace, and is compiled with the flags of that set. No function
// here may have external linkage: the linker could take its code from the wrong file.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef GPUKERN_X86
#include <immintrin.h>
#endif

#include "src/core/cache_line.hpp"
#include "src/core/dtype.hpp"
#include "src/core/float16.hpp"
#include "src/cpu/saxpy_kernels.hpp"

namespace gpukern::cpu::GPUKERN_ISA {
namespace {

inline void multiply_add(float a, float x, float y, float& out) {
  out = canonical(__builtin_fmaf(a, x, y));
}
inline void multiply_add(double a, double x, double y, double& out) {
  out = canonical(__builtin_fma(a, x, y));
}
inline void multiply_add(Half a, Half x, Half y, Half& out) {
  narrow(__builtin_fmaf(widen(a), widen(x), widen(y)), out);
}
inline void multiply_add(BFloat16 a, BFloat16 x, BFloat16 y, BFloat16& out) {
  narrow(__builtin_fmaf(widen(a), widen(x), widen(y)), out);
}
template <class Real>
inline void multiply_add(const Complex<Real>& a, const Complex<Real>& x, const Complex<Real>& y,
                         Complex<Real>& out) {
  const Real re = x.re;
  const Real im = x.im;
  Real sum_re;
  Real sum_im;
  multiply_add(a.re, re, y.re, sum_re);
  multiply_add(a.re, im, y.im, sum_im);
  multiply_add(-a.im, im, sum_re, out.re);
  multiply_add(a.im, re, sum_im, out.im);
}
inline void multiply_add(std::int32_t a, std::int32_t x, std::int32_t y, std::int32_t& out) {
  out = static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(x) +
                                  static_cast<std::uint32_t>(y));
}
inline void multiply_add(std::int64_t a, std::int64_t x, std::int64_t y, std::int64_t& out) {
  out = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(x) +
                                  static_cast<std::uint64_t>(y));
}

/// Of any alignment.
template <class T>
void load(const std::byte* from, T& item) {
  std::memcpy(&item, from, sizeof(T));
}
template <class T>
void store(std::byte* to, const T& item) {
  std::memcpy(to, &item, sizeof(T));
}
// Part by part, for GCC does not vectorize copies of a struct.
template <class Real>
void load(const std::byte* from, Complex<Real>& item) {
  load(from, item.re);
  load(from + sizeof(Real), item.im);
}
template <class Real>
void store(std::byte* to, const Complex<Real>& item) {
  store(to, item.re);
  store(to + sizeof(Real), item.im);
}

template <class T>
void saxpy_items(T a, const std::byte* x, const std::byte* y, std::byte* out, std::int64_t count) {
  constexpr auto kItem = static_cast<std::int64_t>(sizeof(T));
// out is x or y, or overlaps neither.
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    T x_item;
    T y_item;
    T sum;
    load(x + i * kItem, x_item);
    load(y + i * kItem, y_item);
    multiply_add(a, x_item, y_item, sum);
    store(out + i * kItem, sum);
  }
}

// Not inlined into the loop over lines: GCC 12 would then not vectorize some types.
template <class T>
[[gnu::noinline]] void saxpy_run(const std::byte* a_bytes, const std::byte* x, const std::byte* y,
                                 std::byte* out, std::int64_t count) {
  T a;
  std::memcpy(&a, a_bytes, sizeof(T));
  saxpy_items(a, x, y, out, count);
}

#ifdef __F16C__
// The hardware conversion gives the same bits.
template <>
[[gnu::noinline]] void saxpy_run<Half>(const std::byte* a_bytes, const std::byte* x,
                                       const std::byte* y, std::byte* out, std::int64_t count) {
  constexpr std::int64_t kLanes = 8;
  constexpr std::int64_t kBytes = kLanes * sizeof(Half);
  Half a;
  std::memcpy(&a, a_bytes, sizeof(Half));
  const __m256 factor = _mm256_set1_ps(widen(a));
  const __m256 nan = _mm256_set1_ps(canonical(NAN));
  const auto load = [](const std::byte* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  };
  const std::int64_t whole = count / kLanes * kBytes;
  for (std::int64_t at = 0; at < whole; at += kBytes) {
    const __m256 sum = _mm256_fmadd_ps(factor, load(x + at), load(y + at));
    const __m256 result = _mm256_blendv_ps(nan, sum, _mm256_cmp_ps(sum, sum, _CMP_ORD_Q));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at),
                     _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
  }
  saxpy_items(a, x + whole, y + whole, out + whole, count % kLanes);
}
#endif

#ifdef GPUKERN_X86
/// Writes whole cache lines with the widest stores.
inline void store_lines(std::byte* to, const std::byte* from) {
#if defined(__AVX512F__)
  using Vector = __m512i;
  const auto store = [](Vector* out, const Vector* lines) { _mm512_stream_si512(out, *lines); };
#elif defined(__AVX2__)
  using Vector = __m256i;
  const auto store = [](Vector* out, const Vector* lines) { _mm256_stream_si256(out, *lines); };
#else
  using Vector = __m128i;
  const auto store = [](Vector* out, const Vector* lines) { _mm_stream_si128(out, *lines); };
#endif
  constexpr auto kVector = static_cast<std::int64_t>(sizeof(Vector));
  for (std::int64_t i = 0; i < kStreamedLines * kCacheLine; i += kVector)
    store(reinterpret_cast<Vector*>(to + i), reinterpret_cast<const Vector*>(from + i));
}

template <class T>
void saxpy_lines(const std::byte* a, const std::byte* x, const std::byte* y, std::byte* out,
                 std::int64_t count) {
  constexpr std::int64_t kBytes = kStreamedLines * kCacheLine;
  constexpr auto kItem = static_cast<std::int64_t>(sizeof(T));
  alignas(kCacheLine) std::byte lines[kBytes];
  for (std::int64_t at = 0; at < count * kItem; at += kBytes) {
    saxpy_run<T>(a, x + at, y + at, lines, kBytes / kItem);
    store_lines(out + at, lines);
  }
}

template <class T>
constexpr SaxpyKernel kKernel{saxpy_run<T>, saxpy_lines<T>};
#else
template <class T>
constexpr SaxpyKernel kKernel{saxpy_run<T>, nullptr};
#endif

constexpr SaxpyKernels kKernels{
#define GPUKERN_KERNEL(name, type, code, bits) kKernel<type>,
    GPUKERN_SAXPY_DTYPES(GPUKERN_KERNEL)
#undef GPUKERN_KERNEL
};

}  // namespace
}  // namespace gpukern::cpu::GPUKERN_ISA

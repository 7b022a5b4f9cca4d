// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of axpby, compiled once per instruction set; see saxpy_kernel.hpp.
#pragma once

#include <cstdint>
#include <cstring>

#include "src/core/float16.hpp"
#include "src/core/random.hpp"
#include "src/cpu/axpby_kernels.hpp"

namespace gpukern::cpu::GPUKERN_ISA {
namespace {

inline float fused(float a, float x, float y) { return __builtin_fmaf(a, x, y); }
inline double fused(double a, double x, double y) { return __builtin_fma(a, x, y); }

/// Calls run(step) with a step that the compiler knows for contiguous elements.
template <class T, class Run>
void with_step(std::int64_t step, const Run& run) {
  constexpr auto kItem = static_cast<std::int64_t>(sizeof(T));
  if (step == kItem)
    run(std::integral_constant<std::int64_t, kItem>{});
  else
    run(step);
}

template <class T, class Compute>
void widen_run(const std::byte* from, std::int64_t given, Compute* to, std::int64_t count) {
  with_step<T>(given, [=](auto step) {
    for (std::int64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, from + i * step, sizeof(T));
      to[i] = static_cast<Compute>(widen(element));
    }
  });
}

template <class T, class Compute>
void narrow_run(const Compute* from, std::byte* to, std::int64_t given, std::int64_t count) {
  with_step<T>(given, [=](auto step) {
    for (std::int64_t i = 0; i < count; ++i) {
      T element;
      narrow(from[i], element);
      std::memcpy(to + i * step, &element, sizeof(T));
    }
  });
}

inline void narrow_stochastic_run(const float* from, std::byte* to, std::int64_t step,
                                  std::int64_t count, const RandomPlace& place) {
  RandomBlock block{};
  std::int64_t held = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = place.first + i * place.step;
    if (const std::int64_t group = position / kRandomGroup; group != held) {
      block = random_block(place.seed, static_cast<std::uint64_t>(group));
      held = group;
    }
    BFloat16 element;
    narrow_stochastic(from[i], block.bits(position), element);
    std::memcpy(to + i * step, &element, sizeof element);
  }
}

template <class Compute>
void combine_run(const Compute* a, const Compute* x, const Compute* b, const Compute* y,
                 Compute* out, std::int64_t count) {
// out is an operand, or overlaps none.
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) out[i] = canonical(fused(a[i], x[i], b[i] * y[i]));
}

template <class Compute>
void combine_scaled_run(Compute a, const Compute* x, Compute b, const Compute* y, Compute* out,
                        std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) out[i] = canonical(fused(a, x[i], b * y[i]));
}

constexpr AxpbyKernels kAxpbyKernels{
    .in_float = {.widen = {widen_run<Half, float>, widen_run<BFloat16, float>,
                           widen_run<float, float>, nullptr},
                 .narrow = {narrow_run<Half, float>, narrow_run<BFloat16, float>,
                            narrow_run<float, float>, nullptr},
                 .combine = combine_run<float>,
                 .combine_scaled = combine_scaled_run<float>},
    .in_double = {.widen = {widen_run<Half, double>, widen_run<BFloat16, double>,
                            widen_run<float, double>, widen_run<double, double>},
                  .narrow = {narrow_run<Half, double>, narrow_run<BFloat16, double>,
                             narrow_run<float, double>, narrow_run<double, double>},
                  .combine = combine_run<double>,
                  .combine_scaled = combine_scaled_run<double>},
    .narrow_stochastic = narrow_stochastic_run,
};

}  // namespace
}  // namespace gpukern::cpu::GPUKERN_ISA

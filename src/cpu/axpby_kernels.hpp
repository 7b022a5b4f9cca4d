// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The loops of axpby over blocks of elements, one table per instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/core/operation.hpp"

namespace gpukern::cpu {

/// The loops that compute in a type, float or double.
template <class Compute>
struct AxpbyLoops {
  /// Elements `step` bytes apart, of any alignment, to Compute.
  using Widen = void (*)(const std::byte* from, std::int64_t step, Compute* to, std::int64_t count);
  /// To elements `step` bytes apart, of any alignment.
  using Narrow = void (*)(const Compute* from, std::byte* to, std::int64_t step,
                          std::int64_t count);
  /// By RealType; null for float64 in float.
  std::array<Widen, 4> widen;
  std::array<Narrow, 4> narrow;
  /// out = a * x + b * y; out may be any of them.
  void (*combine)(const Compute* a, const Compute* x, const Compute* b, const Compute* y,
                  Compute* out, std::int64_t count);
  /// The same with one a and one b.
  void (*combine_scaled)(Compute a, const Compute* x, Compute b, const Compute* y, Compute* out,
                         std::int64_t count);
};

/// Where the elements of a block are in the whole output, for random_block().
struct RandomPlace {
  std::uint64_t seed;
  std::int64_t first;
  std::int64_t step;
};

struct AxpbyKernels {
  AxpbyLoops<float> in_float;
  AxpbyLoops<double> in_double;
  /// To bfloat16 by stochastic rounding.
  void (*narrow_stochastic)(const float* from, std::byte* to, std::int64_t step, std::int64_t count,
                            const RandomPlace& place);
};

const AxpbyKernels& axpby_kernels_baseline();
#ifdef GPUKERN_X86
const AxpbyKernels& axpby_kernels_avx2();
const AxpbyKernels& axpby_kernels_avx512();
#endif

}  // namespace gpukern::cpu

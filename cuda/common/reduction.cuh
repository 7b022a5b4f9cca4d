// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Reductions in kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "src/core/reduce.hpp"

namespace gpukern::gpu {

/// A reduction, in kernels that combine signed integers as unsigned ones, so that there are fewer
/// of them: sums and products have the same bits, and extremes do with the sign bit inverted before
/// and after.
struct Reduction {
  gpukern_reduce reduce;
  std::uint64_t sign_bit;  ///< 0 unless it is inverted

  [[nodiscard]] __device__ bool adds() const {
    return reduce == GPUKERN_REDUCE_ADD || reduce == GPUKERN_REDUCE_MEAN;
  }
};

inline Reduction reduction_of(gpukern_reduce reduce, gpukern_dtype dtype) {
  const bool is_extreme = reduce == GPUKERN_REDUCE_MIN || reduce == GPUKERN_REDUCE_MAX;
  return {reduce, is_extreme && dtype.code == GPUKERN_INT ? std::uint64_t{1} << (dtype.bits - 1)
                                                          : std::uint64_t{0}};
}

/// Calls visit(TypeTag<T>{}) with the type as which elements are combined.
template <class Visit>
void visit_combined_type(gpukern_dtype dtype, const Visit& visit) {
  visit_reduced_dtype(dtype, [&]<class T>(TypeTag<T>) {
    visit(TypeTag<typename ReducedAs<T, GPUKERN_REDUCE_ADD>::Type>{});
  });
}

/// `value` with the sign bit inverted.
template <class A>
__device__ A inverted(const Reduction& reduction, A value) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<A>(value ^ static_cast<A>(reduction.sign_bit));
  else
    return value;
}

template <class A>
__device__ A combine(const Reduction& reduction, A a, A b) {
  return inverted(reduction, gpukern::combine(reduction.reduce, inverted(reduction, a),
                                              inverted(reduction, b)));
}

/// A reduction that compilers know to be a minimum or maximum.
struct ExtremeReduction : Reduction {};

template <class A>
__device__ A combine(const ExtremeReduction& reduction, A a, A b) {
  if constexpr (kIsComplex<A>)
    return a;  // has none
  else
    return inverted(reduction, combine_extremes(reduction.reduce == GPUKERN_REDUCE_MAX,
                                                inverted(reduction, a), inverted(reduction, b)));
}

/// Combines kCount values after `sum`. Extremes are the same in any grouping: pairs take less time
/// than one after the other.
template <class A, int kCount>
__device__ A combine_in_order(const ExtremeReduction& reduction, A sum, A (&value)[kCount]) {
#pragma unroll
  for (int step = 1; step < kCount; step *= 2)
#pragma unroll
    for (int i = 0; i + step < kCount; i += 2 * step)
      value[i] = combine(reduction, value[i], value[i + step]);
  return combine(reduction, sum, value[0]);
}
template <class A, int kCount>
__device__ A combine_in_order(const Reduction& reduction, A sum, A (&value)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) sum = combine(reduction, sum, value[i]);
  return sum;
}

/// Combines each of kCount values with its successor.
template <class A, int kCount>
__device__ void combine_each(const Reduction& reduction, A (&sum)[kCount],
                             const A (&next)[kCount]) {
#pragma unroll
  for (int c = 0; c < kCount; ++c) sum[c] = combine(reduction, sum[c], next[c]);
}

/// A reduction of which sums alone are inlined, for kernels with many types.
struct CompactReduction : Reduction {};

template <class A>
__device__ __noinline__ A combine_any(Reduction reduction, A a, A b) {
  return combine(reduction, a, b);
}
template <class A, int kCount>
__device__ void combine_each(const CompactReduction& reduction, A (&sum)[kCount],
                             const A (&next)[kCount]) {
  const bool adds = reduction.adds();
#pragma unroll
  for (int c = 0; c < kCount; ++c)
    sum[c] = adds ? gpukern::combine(GPUKERN_REDUCE_ADD, sum[c], next[c])
                  : combine_any<A>(reduction, sum[c], next[c]);
}
template <class A>
__device__ A combine(const CompactReduction& reduction, A a, A b) {
  A sum[1] = {a};
  const A next[1] = {b};
  combine_each(reduction, sum, next);
  return sum[0];
}

/// Combines value(0) to value(count - 1) after `sum`. For sums, several are loaded before the first
/// use: of values in shared memory, each load would take longer than the addition.
template <class A, class Reducer, class Value>
__device__ A combine_values(const Reducer& reduction, A sum, int count, const Value& value) {
  if (!reduction.adds()) {
#pragma unroll 4
    for (int i = 0; i < count; ++i) sum = combine(reduction, sum, value(i));
    return sum;
  }
  constexpr int kTogether = 8;
  int i = 0;
#pragma unroll 1
  for (; i + kTogether <= count; i += kTogether) {
    A next[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) next[k] = value(i + k);
#pragma unroll
    for (int k = 0; k < kTogether; ++k) sum = gpukern::combine(GPUKERN_REDUCE_ADD, sum, next[k]);
  }
#pragma unroll 1
  for (; i < count; ++i) sum = gpukern::combine(GPUKERN_REDUCE_ADD, sum, value(i));
  return sum;
}

template <class A>
__device__ A identity(const Reduction& reduction) {
  return inverted(reduction, gpukern::identity<A>(reduction.reduce));
}

}  // namespace gpukern::gpu

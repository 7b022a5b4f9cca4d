// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The atomic operations of reductions.
#pragma once

#include <type_traits>

#include "cuda/common/reduction.cuh"

namespace gpukern::gpu {

/// The type whose atomicAdd() adds elements of type T; void if there is none.
template <class T>
using AtomicType = std::conditional_t<
    std::is_floating_point_v<T>, T,
    std::conditional_t<
        std::is_integral_v<T> && sizeof(T) == 4, unsigned,
        std::conditional_t<std::is_integral_v<T> && sizeof(T) == 8, unsigned long long, void>>>;

template <class A>
__device__ void combine_atomically(const Reduction& reduction, A* to, A value) {
  if constexpr (std::is_integral_v<A>) {
    using Signed = std::conditional_t<sizeof(A) == 4, int, long long>;
    auto* const signed_to = reinterpret_cast<Signed*>(to);
    const bool is_signed = reduction.sign_bit != 0;
    if (reduction.reduce == GPUKERN_REDUCE_MIN) {
      is_signed ? atomicMin(signed_to, static_cast<Signed>(value)) : atomicMin(to, value);
      return;
    }
    if (reduction.reduce == GPUKERN_REDUCE_MAX) {
      is_signed ? atomicMax(signed_to, static_cast<Signed>(value)) : atomicMax(to, value);
      return;
    }
  }
  atomicAdd(to, value);
}

}  // namespace gpukern::gpu

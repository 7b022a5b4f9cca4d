// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Several elements by one memory access.
#pragma once

#include <cstdint>
#include <cstring>

namespace gpukern::gpu {

/// Elements that are loaded and stored together, by accesses of 16 bytes where there are as many.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Vector {
  T element[kCount];
};

template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using Type = std::uint8_t;
};
template <>
struct Word<2> {
  using Type = std::uint16_t;
};
template <>
struct Word<4> {
  using Type = std::uint32_t;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};

/// Reads what is used once: it leaves the caches first.
template <class T>
__device__ T load_once(const T* from) {
  using W = typename Word<alignof(T)>::Type;
  T value;
#pragma unroll
  for (unsigned w = 0; w < sizeof(T) / sizeof(W); ++w) {
    const W word = __ldcs(reinterpret_cast<const W*>(from) + w);
    std::memcpy(reinterpret_cast<std::byte*>(&value) + w * sizeof(W), &word, sizeof(W));
  }
  return value;
}

/// Writes what is not read again soon.
template <class T>
__device__ void store_once(T* to, const T& value) {
  using W = typename Word<alignof(T)>::Type;
#pragma unroll
  for (unsigned w = 0; w < sizeof(T) / sizeof(W); ++w) {
    W word;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(&value) + w * sizeof(W), sizeof(W));
    __stcs(reinterpret_cast<W*>(to) + w, word);
  }
}

}  // namespace gpukern::gpu

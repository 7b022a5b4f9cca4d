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

/// What becomes of lines in the L2 cache that are read once: a cache policy (PTX ISA:
/// createpolicy).
class StreamPolicy {
 public:
  /// With `first` they leave before all others, which keeps lines there that are read again. Else
  /// they come in without a change of anything's rank, and DRAM answers faster where another kernel
  /// has filled the cache: its lines, it seems, stay for ever otherwise, and the stream is short of
  /// room. H200, behind a copy, us: 128 Mi of 128 Mi items with equal indices 276 by the former,
  /// 264 by the latter, sorted 388 and 372, zipf 757 and 771; 128 Mi random ones of 8 Mi, which the
  /// L2 cache holds, 1170 and 1229.
  __device__ explicit StreamPolicy(bool first) : first_(first) {}

  /// Volatile, as the wait for the previous kernel and __ldcs() are in CUDA's headers: they keep
  /// their order.
  __device__ uint4 load(const uint4* from) const {
#if __CUDA_ARCH__ >= 800
    // Made anew for each vector, since registers are dearer.
    std::uint64_t policy = 0;
    std::uint64_t unchanged = 0;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("createpolicy.fractional.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(unchanged));
    if (!first_) policy = unchanged;
    uint4 word;
    asm volatile("ld.global.L1::evict_first.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from), "l"(policy));
    return word;
#else
    return __ldcs(from);
#endif
  }

  /// Words of less than 16 bytes leave before others in any case.
  template <class W>
  __device__ W load(const W* from) const {
    return __ldcs(from);
  }

 private:
  [[maybe_unused]] bool first_;
};

/// Reads what is used once. It leaves the L1 cache first.
template <class T>
__device__ T load_once(const T* from, const StreamPolicy& policy) {
  using W = typename Word<alignof(T)>::Type;
  T value;
#pragma unroll
  for (unsigned w = 0; w < sizeof(T) / sizeof(W); ++w) {
    const W word = policy.load(reinterpret_cast<const W*>(from) + w);
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

/// The value of the lane whose number differs from this one's by the bits of `mask`.
template <class T>
__device__ T of_lane_xor(T value, unsigned mask) {
  constexpr unsigned kWords = (sizeof(T) + 3) / 4;
  std::uint32_t words[kWords]{};
  std::memcpy(words, &value, sizeof(T));
#pragma unroll
  for (unsigned w = 0; w < kWords; ++w) words[w] = __shfl_xor_sync(~0U, words[w], mask);
  T other;
  std::memcpy(&other, words, sizeof(T));
  return other;
}

/// Transposes the square of kCount elements in each of kCount neighbouring lanes.
template <class T, int kCount>
__device__ void transpose(T (&element)[kCount]) {
#pragma unroll
  for (int bit = 1; bit < kCount; bit *= 2) {
    const bool upper = (threadIdx.x & bit) != 0;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if ((j & bit) != 0) continue;
      const T low = element[j];
      const T high = element[j | bit];
      const T sent = upper ? low : high;
      const T other = of_lane_xor(sent, bit);
      element[j] = upper ? other : low;
      element[j | bit] = upper ? high : other;
    }
  }
}

}  // namespace gpukern::gpu

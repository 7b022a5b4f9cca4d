// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Loads and stores of several elements by one instruction, at aligned and at unaligned addresses.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cuda/common/arithmetic.hpp"

namespace gpukern::gpu {

/// The type of an access of kBytes bytes.
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

/// Calls visit(W{}) with the type of a word of `bytes` bytes.
template <class Visit>
void visit_word(std::int64_t bytes, const Visit& visit) {
  switch (bytes) {
    case 1:
      return visit(Word<1>::Type{});
    case 2:
      return visit(Word<2>::Type{});
    case 4:
      return visit(Word<4>::Type{});
    case 8:
      return visit(Word<8>::Type{});
    default:
      return visit(Word<16>::Type{});
  }
}

/// Elements that are loaded and stored together, in words of up to 16 bytes.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount < kWordBytes ? sizeof(T) * kCount : kWordBytes) Vector {
  T element[kCount];
};

/// As many elements as a word of 16 bytes holds.
template <class T>
inline constexpr int kPerWord = kWordBytes / static_cast<int>(sizeof(T));
template <class T>
using WordVector = Vector<T, kPerWord<T>>;

/// The same bytes as another type.
template <class To, class From>
__device__ To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// The L2 eviction priority of data that is read once (PTX ISA: createpolicy). Evict-first keeps
/// the lines of other data in the cache; evict-unchanged is faster where the cache is full of
/// another kernel's lines. Measured: benchmarks/notes/gather.md#l2-eviction-priority.
class CachePolicy {
 public:
  __device__ explicit CachePolicy(bool evict_first) : evict_first_(evict_first) {}

  /// Volatile like the wait for the previous kernel and __ldcs() in CUDA's headers, so that they
  /// stay in order.
  __device__ uint4 load(const uint4* from) const {
#if __CUDA_ARCH__ >= 800
    // Created for each vector: two instructions cost less than a 64-bit register.
    std::uint64_t policy = 0;
    std::uint64_t unchanged = 0;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm("createpolicy.fractional.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(unchanged));
    if (!evict_first_) policy = unchanged;
    uint4 word;
    asm volatile("ld.global.L1::evict_first.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from), "l"(policy));
    return word;
#else
    return __ldcs(from);
#endif
  }

  /// Words below 16 bytes are evict-first in any case.
  template <class W>
  __device__ W load(const W* from) const {
    return __ldcs(from);
  }

 private:
  [[maybe_unused]] bool evict_first_;
};

/// Loads data that is read once.
template <class T>
__device__ T load_streaming(const T* from, const CachePolicy& policy) {
  using W = typename Word<alignof(T)>::Type;
  T value;
#pragma unroll
  for (unsigned w = 0; w < sizeof(T) / sizeof(W); ++w) {
    const W word = policy.load(reinterpret_cast<const W*>(from) + w);
    std::memcpy(reinterpret_cast<std::byte*>(&value) + w * sizeof(W), &word, sizeof(W));
  }
  return value;
}

/// Stores data that is not read again soon.
template <class T>
__device__ void store_streaming(T* to, const T& value) {
  using W = typename Word<alignof(T)>::Type;
#pragma unroll
  for (unsigned w = 0; w < sizeof(T) / sizeof(W); ++w) {
    W word;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(&value) + w * sizeof(W), sizeof(W));
    __stcs(reinterpret_cast<W*>(to) + w, word);
  }
}

/// Loads an element byte by byte, at any address.
template <class T>
__device__ T load_unaligned(const std::byte* from) {
  T value;
  auto* to = reinterpret_cast<unsigned char*>(&value);
  for (unsigned b = 0; b < sizeof(T); ++b) to[b] = reinterpret_cast<const unsigned char*>(from)[b];
  return value;
}

template <class T>
__device__ void store_unaligned(std::byte* to, T value) {
  const auto* from = reinterpret_cast<const unsigned char*>(&value);
  for (unsigned b = 0; b < sizeof(T); ++b) reinterpret_cast<unsigned char*>(to)[b] = from[b];
}

/// The offset of an address from a multiple of 16 bytes.
__device__ inline unsigned misalignment(const std::byte* address) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(address)) & (kWordBytes - 1);
}

/// Bytes [shift, shift + 16) of the 32 bytes of two words; only the low four bits of `shift` count.
/// Fast where all threads of a warp have the same shift.
__device__ inline uint4 funnel_shift(uint4 low, uint4 high, unsigned shift) {
  unsigned part[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if ((shift & 8U) != 0)
    for (int i = 0; i < 6; ++i) part[i] = part[i + 2];
  if ((shift & 4U) != 0)
    for (int i = 0; i < 5; ++i) part[i] = part[i + 1];
  const unsigned bits = 8 * (shift & 3U);
  return {__funnelshift_r(part[0], part[1], bits), __funnelshift_r(part[1], part[2], bits),
          __funnelshift_r(part[2], part[3], bits), __funnelshift_r(part[3], part[4], bits)};
}

/// Loads consecutive words from any address. If that is not aligned, it loads the aligned words
/// that contain them: up to 15 bytes before the first word and after the last one.
class UnalignedReader {
 public:
  struct Loaded {
    uint4 low;
    uint4 high;
  };

  __device__ explicit UnalignedReader(const std::byte* from)
      : shift_(misalignment(from)), words_(reinterpret_cast<const uint4*>(from - shift_)) {}

  /// Separate from word(), so that several loads can be in flight.
  [[nodiscard]] __device__ Loaded load(std::int64_t position) const {
    Loaded loaded;
    loaded.low = words_[position];
    if (shift_ != 0) loaded.high = words_[position + 1];
    return loaded;
  }
  [[nodiscard]] __device__ uint4 word(const Loaded& loaded) const {
    return shift_ == 0 ? loaded.low : funnel_shift(loaded.low, loaded.high, shift_);
  }

 private:
  unsigned shift_;
  const uint4* words_;
};

/// Stores consecutive words to any address, and no other byte.
class UnalignedWriter {
 public:
  __device__ explicit UnalignedWriter(std::byte* to) : shift_(misalignment(to)), to_(to) {}

  /// Stores the words of a warp, whose threads have consecutive positions and all call this;
  /// threads at `end` or beyond store nothing. Each aligned store takes its first bytes from the
  /// previous lane.
  __device__ void store(std::int64_t position, uint4 value, std::int64_t end) const {
    std::byte* const to = to_ + position * kWordBytes;
    if (shift_ == 0) {
      if (position < end) *reinterpret_cast<uint4*>(to) = value;
      return;
    }
    const uint4 before = {from_previous_lane(value.x), from_previous_lane(value.y),
                          from_previous_lane(value.z), from_previous_lane(value.w)};
    if (position >= end) return;
    const unsigned lane = threadIdx.x % kLanes;
    const unsigned own = kWordBytes - shift_;
    if (lane == 0)
      store_part(to, value, 0, own);
    else
      *reinterpret_cast<uint4*>(to - shift_) = funnel_shift(before, value, own);
    if (lane == kLanes - 1 || position + 1 == end) store_part(to, value, own, kWordBytes);
  }

 private:
  static constexpr unsigned kLanes = 32;

  __device__ static unsigned from_previous_lane(unsigned part) {
    return __shfl_up_sync(0xffffffffU, part, 1);
  }

  /// Stores bytes [first, last) of a word.
  __device__ void store_part(std::byte* to, uint4 value, unsigned first, unsigned last) const {
    const unsigned part[] = {value.x, value.y, value.z, value.w};
    if (shift_ % 4 == 0) {
#pragma unroll
      for (unsigned b = 0; b < kWordBytes; b += 4)
        if (b >= first && b < last) *reinterpret_cast<unsigned*>(to + b) = part[b / 4];
    } else {
#pragma unroll
      for (unsigned b = 0; b < kWordBytes; ++b)
        if (b >= first && b < last) to[b] = static_cast<std::byte>(part[b / 4] >> (8 * (b % 4)));
    }
  }

  unsigned shift_;
  std::byte* to_;
};

}  // namespace gpukern::gpu

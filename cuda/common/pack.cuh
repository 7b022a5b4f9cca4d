// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Packs: the 16 bytes that a thread moves by one instruction, read and written at any address.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpukern::gpu {

inline constexpr int kPackBytes = 16;

/// A pack as items of T.
template <class T>
struct Items {
  static constexpr int kCount = kPackBytes / static_cast<int>(sizeof(T));
  T item[kCount];

  __device__ static Items of(uint4 pack) {
    Items items;
    std::memcpy(&items, &pack, kPackBytes);
    return items;
  }
  [[nodiscard]] __device__ uint4 pack() const {
    uint4 pack;
    std::memcpy(&pack, this, kPackBytes);
    return pack;
  }
};

/// Bytes [shift, shift + 16) of the 32 bytes of two packs; shift < 16. Meant for a shift that all
/// threads of a warp share.
__device__ inline uint4 joined(uint4 low, uint4 high, unsigned shift) {
  unsigned word[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if ((shift & 8U) != 0)
    for (int i = 0; i < 6; ++i) word[i] = word[i + 2];
  if ((shift & 4U) != 0)
    for (int i = 0; i < 5; ++i) word[i] = word[i + 1];
  const unsigned bits = 8 * (shift & 3U);
  return {__funnelshift_r(word[0], word[1], bits), __funnelshift_r(word[1], word[2], bits),
          __funnelshift_r(word[2], word[3], bits), __funnelshift_r(word[3], word[4], bits)};
}

/// Bytes of an address above a multiple of a pack.
__device__ inline unsigned pack_shift(const std::byte* address) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(address)) & (kPackBytes - 1);
}

/// Reads packs that follow each other from any address on. Where that is no multiple of a pack,
/// it reads the whole packs around: up to 15 bytes before the first and behind the last one.
class PackReader {
 public:
  struct Loaded {
    uint4 low;
    uint4 high;
  };

  __device__ explicit PackReader(const std::byte* from)
      : shift_(pack_shift(from)), packs_(reinterpret_cast<const uint4*>(from - shift_)) {}

  /// Apart from pack(), so that many loads can be under way.
  [[nodiscard]] __device__ Loaded load(std::int64_t position) const {
    Loaded loaded;
    loaded.low = packs_[position];
    if (shift_ != 0) loaded.high = packs_[position + 1];
    return loaded;
  }
  [[nodiscard]] __device__ uint4 pack(const Loaded& loaded) const {
    return shift_ == 0 ? loaded.low : joined(loaded.low, loaded.high, shift_);
  }

 private:
  unsigned shift_;
  const uint4* packs_;
};

/// Writes packs that follow each other from any address on, and no byte besides.
class PackWriter {
 public:
  __device__ explicit PackWriter(std::byte* to) : shift_(pack_shift(to)), to_(to) {}

  /// Stores the packs of a warp, whose threads have positions one after another and all call this;
  /// those at `end` and beyond store nothing. Aligned stores take their first bytes from the
  /// thread before.
  __device__ void store(std::int64_t position, uint4 value, std::int64_t end) const {
    std::byte* const to = to_ + position * kPackBytes;
    if (shift_ == 0) {
      if (position < end) *reinterpret_cast<uint4*>(to) = value;
      return;
    }
    const uint4 before = {from_lane_before(value.x), from_lane_before(value.y),
                          from_lane_before(value.z), from_lane_before(value.w)};
    if (position >= end) return;
    const unsigned lane = threadIdx.x % kLanes;
    const unsigned own = kPackBytes - shift_;
    if (lane == 0)
      store_part(to, value, 0, own);
    else
      *reinterpret_cast<uint4*>(to - shift_) = joined(before, value, own);
    if (lane == kLanes - 1 || position + 1 == end) store_part(to, value, own, kPackBytes);
  }

 private:
  static constexpr unsigned kLanes = 32;

  __device__ static unsigned from_lane_before(unsigned word) {
    return __shfl_up_sync(0xffffffffU, word, 1);
  }

  /// Stores bytes [first, last) of a pack.
  __device__ void store_part(std::byte* to, uint4 value, unsigned first, unsigned last) const {
    const unsigned word[] = {value.x, value.y, value.z, value.w};
    if (shift_ % 4 == 0) {
#pragma unroll
      for (unsigned b = 0; b < kPackBytes; b += 4)
        if (b >= first && b < last) *reinterpret_cast<unsigned*>(to + b) = word[b / 4];
    } else {
#pragma unroll
      for (unsigned b = 0; b < kPackBytes; ++b)
        if (b >= first && b < last) to[b] = static_cast<std::byte>(word[b / 4] >> (8 * (b % 4)));
    }
  }

  unsigned shift_;
  std::byte* to_;
};

}  // namespace gpukern::gpu

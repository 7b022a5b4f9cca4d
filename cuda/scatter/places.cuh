// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A stable counting sort of a tile of updates by a thread block, each warp of which has a part of
// the tile.
#pragma once

#include <cub/block/block_scan.cuh>

#include "cuda/scatter/slices.cuh"

namespace gpukern::gpu {

inline constexpr int kTileThreads = 256;
inline constexpr int kTileUpdates = 4096;
/// The updates of a thread, a warp's width apart, and how many of them it loads before it uses one.
inline constexpr int kTileEach = kTileUpdates / kTileThreads;
inline constexpr int kTileTogether = 8;
static_assert(kTileEach % kTileTogether == 0);
static_assert(kTileUpdates <= 65535, "16 bits hold a place in a tile");

/// The places in a tile, in shared memory that is aligned to 16 bytes: of each digit, where the
/// updates of each warp begin.
template <int kBlockThreads>
class Places {
 public:
  using Scan = cub::BlockScan<std::uint32_t, kBlockThreads, cub::BLOCK_SCAN_WARP_SCANS>;

  __device__ Places(void* memory, std::uint32_t digits)
      : warps_(static_cast<OfWarps*>(memory)), digits_(digits) {}
  static __host__ __device__ constexpr std::size_t bytes(std::uint32_t digits) {
    return (padded(digits) + 1) * sizeof(OfWarps);
  }

  // All threads of the block call the next three in turn, and synchronize after each.
  __device__ void clear() const {
    for (std::uint32_t i = threadIdx.x; i <= padded(digits_); i += kBlockThreads) warps_[i] = {};
  }
  /// Counts updates: digit(k) is that of this lane's update in round k, -1 without one. All threads
  /// have the same number of rounds.
  template <int kRounds, class Digit>
  __device__ void count(int rounds, const Digit& digit, std::uint16_t (&rank)[kRounds]) const {
#pragma unroll
    for (int k = 0; k < kRounds; ++k) {
      if (k >= rounds) continue;
      const int of = digit(k);
      const EqualLanes equal = count_by_warp(of >= 0, &own(max(of, 0)));
      rank[k] = static_cast<std::uint16_t>(equal.before + equal.rank());
    }
  }
  /// Replaces numbers of updates by places, and calls visit(digit, number) for each digit.
  template <class Visit>
  __device__ void find(typename Scan::TempStorage& scan, const Visit& visit) const {
    const std::uint32_t each = (digits_ + kBlockThreads - 1) / kBlockThreads;
    const std::uint32_t first = min(threadIdx.x * each, digits_);
    const std::uint32_t last = min(first + each, digits_);
    std::uint32_t sum = 0;
    for (std::uint32_t i = first; i < last; ++i)
      for (const std::uint16_t number : warps_[padded(i)].of) sum += number;
    Scan(scan).ExclusiveSum(sum, sum);
    for (std::uint32_t i = first; i < last; ++i) {
      const std::uint32_t before = sum;
      OfWarps warps = warps_[padded(i)];
      for (std::uint16_t& of_warp : warps.of) {
        const std::uint32_t number = of_warp;
        of_warp = static_cast<std::uint16_t>(sum);
        sum += number;
      }
      warps_[padded(i)] = warps;
      visit(i, sum - before);
    }
    if (first < last && last == digits_)
      warps_[padded(digits_)].of[0] = static_cast<std::uint16_t>(sum);
  }
  /// The place of an update of this thread's warp.
  [[nodiscard]] __device__ int place(std::uint32_t digit, std::uint16_t rank) const {
    return own(digit) + rank;
  }

  /// Where the updates of a digit begin; of one more than the last digit, where they all end.
  [[nodiscard]] __device__ int begin(std::uint32_t digit) const {
    return warps_[padded(digit)].of[0];
  }

 private:
  static constexpr int kWarps = kBlockThreads / 32;
  struct alignas(16) OfWarps {
    std::uint16_t of[kWarps];
  };
  static_assert(sizeof(OfWarps) % 16 == 0);
  /// Threads have neighbouring digits; the padding puts them into different banks.
  static __host__ __device__ constexpr std::uint32_t padded(std::uint32_t digit) {
    return digit + digit / 8;
  }
  [[nodiscard]] __device__ std::uint16_t& own(std::uint32_t digit) const {
    return warps_[padded(digit)].of[threadIdx.x / 32];
  }

  OfWarps* warps_;
  std::uint32_t digits_;
};

using TileScan = Places<kTileThreads>::Scan;

/// A sorted tile in shared memory.
template <class Payload, int kBlockThreads = kTileThreads>
struct SortedTile {
  using Scan = typename Places<kBlockThreads>::Scan;

  Payload* payload;
  std::uint16_t* key;  ///< in its slice
  Places<kBlockThreads> places;

  __device__ SortedTile(std::byte* memory, std::uint32_t digits)
      : payload(reinterpret_cast<Payload*>(memory)),
        key(reinterpret_cast<std::uint16_t*>(payload + kTileUpdates)),
        places(key + kTileUpdates, digits) {}
  static __host__ __device__ constexpr std::size_t bytes(std::uint32_t digits) {
    return kTileUpdates * (sizeof(Payload) + sizeof(std::uint16_t)) +
           Places<kBlockThreads>::bytes(digits);
  }
};

}  // namespace gpukern::gpu

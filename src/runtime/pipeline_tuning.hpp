// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// THE numbers of host arrays that pass through a GPU, and of calls that report on their way.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpukern {

/// Chunks on their way at a time: one comes in, one is computed or goes out, and one is on the
/// host's hands.
inline constexpr std::int64_t kSlots = 3;

/// Bytes of an operand in a chunk, at most. 16 MiB are 0.4 ms for a threaded copy of 40 GB/s, so
/// that its threads' coming together does not count; 8 MiB are 0.15 ms of PCIe 5, where the first
/// chunk on the way in and the last one on the way out have nothing beside them.
inline constexpr std::int64_t kStagedChunk = std::int64_t{16} << 20;
inline constexpr std::int64_t kPinnedChunk = std::int64_t{8} << 20;

/// So many operands may be as large as that; more of them share the room of so many, since staging
/// is kept between calls.
inline constexpr std::int64_t kFullOperands = 3;

/// Smaller operands have so many chunks all the same, of so many bytes at least.
inline constexpr std::int64_t kWantedChunks = 8;
inline constexpr std::int64_t kSmallChunk = std::int64_t{1} << 20;

/// What begins in device memory and in staging begins with a multiple of this.
inline constexpr std::int64_t kChunkAlignment = 256;
constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
}

/// A call on the CPU reports and can be stopped so many times, its parts being of sizes in between.
/// 128 MiB are some 5 ms of 16 cores, beside which their coming together does not count.
inline constexpr std::int64_t kReports = 64;
inline constexpr std::int64_t kSmallestReport = std::int64_t{128} << 20;
inline constexpr std::int64_t kLargestReport = std::int64_t{512} << 20;

/// Rates of a gather of host arrays by its three ways, per nanosecond. One H200 with PCIe 5 and 16
/// cores: copies 55 GB/s from pinned memory, 40 by way of staging; reads in place 0.5 random
/// items, 50 GB/s of long rows; the CPU 0.1 random items a thread from its memory, 0.3 from its
/// caches, 1 GB/s of long rows a thread.
inline constexpr double kPinnedCopy = 55;
inline constexpr double kStagedCopy = 40;
inline constexpr double kInPlaceItems = 0.5;
inline constexpr double kInPlaceBytes = 50;
inline constexpr double kThreadItems = 0.15;
inline constexpr double kThreadBytes = 1;
inline constexpr double kCpuBytes = 20;  ///< of all threads together

/// A gather from a pinned source to a GPU by GPU and CPU together, see gather_hybrid.hpp. Slots of
/// page-locked memory, 48 MiB for each device, and bytes of a chunk in them, index and rows. A call
/// begins and ends with small ones, beside which nothing crosses, or nothing is gathered; none so
/// small that the threads' coming together counts. 16 MiB are 0.3 ms of the CPU and of PCIe 5, and
/// a chunk costs the caller 7 us.
inline constexpr std::size_t kHybridSlots = 3;
inline constexpr std::int64_t kHybridSlot = std::int64_t{16} << 20;
inline constexpr std::int64_t kHybridSmall = std::int64_t{2} << 20;
inline constexpr std::int64_t kHybridLongest = std::int64_t{64} << 10;  ///< an item

/// From one chunk of a call to the next, helpers stay awake for so many nanoseconds: a chunk that
/// has to wake them would be done when the last one comes.
inline constexpr std::int64_t kHybridPause = 2000000;

/// Its rates, measured as above in a virtual machine. There the GPU translates 0.03 host addresses
/// a nanosecond beside copies, 0.034 without, each a row's, once the source is larger than its
/// tables reach; PCIe itself moves rows of 1 KiB at twice the rate. A thread of the CPU takes 14 ns
/// for a row from memory and moves 8.5 bytes a nanosecond, and all together 100 at least: PCIe is
/// the bound from rows of 256 bytes on. That is where a process begins: chunks of kHybridTelling
/// bytes and more tell how long the CPU really takes, 3 times as long on another host. The lag,
/// in nanoseconds, is from the call to the first rows' crossing.
inline constexpr std::int64_t kTranslated = std::int64_t{1} << 30;
inline constexpr double kFarItems = 0.03;
inline constexpr double kRowThread = 14;
inline constexpr double kRowThreadBytes = 8.5;
inline constexpr double kRowBytes = 100;
inline constexpr double kHybridLag = 150000;
inline constexpr std::int64_t kHybridTelling = std::int64_t{4} << 20;

/// Where nothing limits translation, as on many machines without a hypervisor, reading in place
/// alone would take kInPlaceItems and kInPlaceBytes. The CPU's part is kept so small that it takes
/// no longer than so many times that: what a wrong guess may cost. What a right one must gain at
/// least, for all threads being busy (rows of 2 KiB would gain 3%):
inline constexpr double kHybridLoss = 1.1;
inline constexpr double kHybridGain = 1.15;

/// The part of the device memory limit that a source may fill, chunks having the rest.
inline constexpr std::int64_t kSourcePart = 2;  ///< half of it

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Tuning parameters of host arrays that are computed on a GPU, and of progress reports.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpukern {

/// Chunks in flight: one is uploaded, one is computed or downloaded, and the host packs or unpacks
/// one.
inline constexpr std::int64_t kSlots = 3;

/// Maximum bytes of an operand in a chunk. A threaded copy at 40 GB/s takes 0.4 ms for 16 MiB, so
/// the time to start its threads is negligible. PCIe 5 takes 0.15 ms for 8 MiB; the first upload
/// and the last download overlap with nothing.
inline constexpr std::int64_t kStagedChunk = std::int64_t{16} << 20;
inline constexpr std::int64_t kPinnedChunk = std::int64_t{8} << 20;

/// Up to this number of operands may have chunks of the maximum size. More operands share the
/// memory of this number, since staging memory is cached between calls.
inline constexpr std::int64_t kFullOperands = 3;

/// Smaller operands are divided into this number of chunks, of at least kSmallChunk bytes each.
inline constexpr std::int64_t kWantedChunks = 8;
inline constexpr std::int64_t kSmallChunk = std::int64_t{1} << 20;

/// The alignment of operands in device memory and in staging memory.
inline constexpr std::int64_t kChunkAlignment = 256;
constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
}

/// Bytes of a call's result on the CPU between two progress reports, at each of which it can be
/// cancelled. One core takes about a tenth of a second to gather that much by random indices; 16
/// cores take about a millisecond to copy them, so the time to start the threads is negligible.
inline constexpr std::int64_t kReportBytes = std::int64_t{32} << 20;

/// Rates of a gather of host arrays, in Gitem/s and GB/s, for the three ways to read the source.
/// Measured on one H200 with PCIe 5 and 16 cores: copies 55 GB/s from pinned memory, 40 GB/s
/// through staging; reads in place 0.5 Gitem/s at random, 50 GB/s for long rows; the CPU 0.1
/// Gitem/s per thread at random from memory, 0.3 from its caches, 1 GB/s per thread for long rows.
inline constexpr double kPinnedCopy = 55;
inline constexpr double kStagedCopy = 40;
inline constexpr double kInPlaceItems = 0.5;
inline constexpr double kInPlaceBytes = 50;
inline constexpr double kThreadItems = 0.15;
inline constexpr double kThreadBytes = 1;
inline constexpr double kCpuBytes = 20;  ///< of all threads together

/// The hybrid gather from a pinned source, see gather_hybrid.hpp. The slots are page-locked memory,
/// 48 MiB for each device; a chunk in a slot holds indices and rows. The first and the last chunks
/// are small, since their transfer or their gather overlaps with nothing, but large enough to make
/// the time to start the threads negligible. The CPU and PCIe 5 take 0.3 ms for 16 MiB; each chunk
/// costs the caller 7 us.
inline constexpr std::size_t kHybridSlots = 3;
inline constexpr std::int64_t kHybridSlot = std::int64_t{16} << 20;
inline constexpr std::int64_t kHybridSmall = std::int64_t{2} << 20;
inline constexpr std::int64_t kHybridLongest = std::int64_t{64} << 10;  ///< bytes of an item

/// Helper threads spin for this number of nanoseconds between the chunks of a call: if they had to
/// be woken, a chunk would be complete before the last thread arrives.
inline constexpr std::int64_t kHybridPause = 2000000;

/// Rates of the hybrid gather, measured as above in a virtual machine. Its GPU translates 0.03 host
/// addresses per nanosecond during copies and 0.034 otherwise, one address for each row, if the
/// source is larger than its translation tables cover; PCIe itself transfers rows of 1 KiB at twice
/// this rate. A CPU thread takes 14 ns for a row from memory and moves 8.5 GB/s; all threads
/// together move at least 100 GB/s: PCIe is the limit from rows of 256 bytes. Each process starts
/// with these rates; chunks of kHybridTelling bytes or more then measure the CPU, which is 3 times
/// slower on another host. The lag, in nanoseconds, is the time from the call to the transfer of
/// the first rows.
inline constexpr std::int64_t kTranslated = std::int64_t{1} << 30;
inline constexpr double kFarItems = 0.03;
inline constexpr double kRowThread = 14;
inline constexpr double kRowThreadBytes = 8.5;
inline constexpr double kRowBytes = 100;
inline constexpr double kHybridLag = 150000;
inline constexpr std::int64_t kHybridTelling = std::int64_t{4} << 20;

/// Where translation is not the limit, as on many machines without a hypervisor, reading in place
/// would take the time that kInPlaceItems and kInPlaceBytes give. The CPU's share takes at most
/// kHybridLoss times as long, which bounds the loss if the rates are wrong. The predicted gain must
/// be at least kHybridGain, since all threads are busy (rows of 2 KiB would gain 3%).
inline constexpr double kHybridLoss = 1.1;
inline constexpr double kHybridGain = 1.15;

/// The source may use one part in kSourcePart of the device memory limit; the chunks use the rest.
inline constexpr std::int64_t kSourcePart = 2;

}  // namespace gpukern

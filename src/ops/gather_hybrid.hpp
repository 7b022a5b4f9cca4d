// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather from a page-locked source to a GPU, by the GPU and the CPU together.
//
// A GPU that reads the source in place is bound by the translation of host addresses, one a row or
// more. The CPU's threads are not: they gather rows into page-locked staging, which then crosses as
// one piece. So the first items are read in place by a kernel on the caller's stream, and the last
// ones come by way of slots, each a stream of our own and a piece of staging. For each chunk, a
// slot's stream copies the indices to the host, lets the host gather, and copies the rows to the
// device. Slots begin behind the caller's stream and are waited for by it; the host waits for none.
// Streams share the slots. A call that finds another stream's gather in them, which has not begun
// yet, reads all items in place: what that stream waits for is none of its business.
#pragma once

#include <cstdint>

#include "src/ops/gather_offload.hpp"

namespace gpukern {

/// What the split is made of.
struct SplitFacts {
  std::int64_t source_bytes;
  std::int64_t items;
  std::int64_t item;  ///< bytes of one
  int threads;        ///< of the CPU; one may spin in wait for the stream
  double pace = 1;    ///< the CPU's, see Pace
};

/// How many threads gather, of so many.
int gathering(int threads);

/// Nanoseconds that they take for an item of so many bytes, by the rates of pipeline_tuning.hpp.
double cpu_time(std::int64_t item, int threads);

/// How many of the items the CPU is to take, by those rates and its pace.
std::int64_t split(const SplitFacts& facts);

/// How many of the items of a gather in place, the last ones, the CPU is to take: 0 where it has no
/// part, $GPUKERN_CPU_SHARE percent where that is set. `args` are joined.
std::int64_t items_for_cpu(const GatherCall& gather, const GatherArgs& args);

/// Enqueues the gather, `by_cpu` items by way of the CPU; or all in place, where page-locked memory
/// for it is not to be had.
void gather_mixed(const GatherCall& gather, const GatherArgs& args, std::int64_t by_cpu);

}  // namespace gpukern

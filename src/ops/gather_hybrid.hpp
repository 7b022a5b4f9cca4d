// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather from a page-locked source to a GPU, by the GPU and the CPU together.
//
// A GPU that reads the source in place is bound by the translation of host addresses, one or more
// for each row. CPU threads are not: they gather rows into page-locked staging, which is then
// copied as one piece. So a kernel on the caller's stream reads the first items in place, and the
// last ones pass through a ring of slots, each a stream and a piece of staging. For each chunk, a
// slot's stream copies the indices to the host, calls a host function that gathers, and copies the
// rows to the device. Slots wait for the caller's stream and are waited for by it; the host does
// not wait. Streams share the slots. A call that finds in them another stream's gather that has not
// started reads all items in place, so that it does not depend on what that stream waits for.
#pragma once

#include <cstdint>

#include "src/ops/gather_offload.hpp"

namespace gpukern {

/// The facts that decide the split.
struct SplitFacts {
  std::int64_t source_bytes;
  std::int64_t items;
  std::int64_t item;    ///< bytes of one
  int threads;          ///< of the CPU; one may spin in wait for the stream
  double slowdown = 1;  ///< of the CPU, see ThroughputEstimate
};

/// The number of threads that gather, out of `threads`.
int gathering_threads(int threads);

/// Nanoseconds that they take for an item of `item` bytes, by the rates of pipeline_tuning.hpp.
double cpu_time(std::int64_t item, int threads);

/// The number of items that the CPU gathers, by those rates and its slowdown.
std::int64_t split(const SplitFacts& facts);

/// The number of items of a gather in place, the last ones, that the CPU gathers: 0 for none;
/// $GPUKERN_CPU_SHARE percent if that is set. `args` are joined.
std::int64_t items_for_cpu(const GatherCall& gather, const GatherArgs& args);

/// Enqueues the gather, `by_cpu` items through the CPU; all in place if there is no page-locked
/// memory for that.
void hybrid_gather(const GatherCall& gather, const GatherArgs& args, std::int64_t by_cpu);

}  // namespace gpukern

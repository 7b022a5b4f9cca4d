// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Gather from a page-locked source to a GPU, by the GPU and the CPU together.
//
// A GPU that reads the source in place is limited by the translation of host addresses, one or more
// for each row. CPU threads are not: they gather rows into page-locked staging memory, which is
// then copied in one transfer. So a kernel on the caller's stream reads the first items in place,
// and the last ones pass through a ring of slots, each a stream with staging memory. For each
// chunk, a slot's stream copies the indices to the host, calls a host function that gathers, and
// copies the rows to the device. The slots wait for the caller's stream and the stream waits for
// them; the host does not wait. Streams share the slots. If the slots hold a gather of another
// stream that has not started, a call reads all items in place, so that it does not depend on that
// stream's earlier work.
#pragma once

#include <cstdint>

#include "src/ops/gather_offload.hpp"

namespace gpukern {

/// The values that determine the split.
struct SplitFacts {
  std::int64_t source_bytes;
  std::int64_t items;
  std::int64_t item;    ///< bytes of an item
  int threads;          ///< of the CPU; one of them may spin while it waits for the stream
  double slowdown = 1;  ///< of the CPU, see ThroughputEstimate
};

/// The number of threads that gather, out of `threads`.
int gathering_threads(int threads);

/// Nanoseconds that they take for an item of `item` bytes, by the rates in pipeline_tuning.hpp.
double cpu_time(std::int64_t item, int threads);

/// The number of items that the CPU gathers, by those rates and its slowdown.
std::int64_t split(const SplitFacts& facts);

/// The number of items at the end of a gather in place that the CPU gathers; 0 for none.
/// $GPUKERN_CPU_SHARE percent of them if that is set. join_items() has been called for `args`.
std::int64_t items_for_cpu(const GatherCall& gather, const GatherArgs& args);

/// Enqueues the gather, the last `by_cpu` items through the CPU. All are read in place if there is
/// no page-locked memory for the slots.
void hybrid_gather(const GatherCall& gather, const GatherArgs& args, std::int64_t by_cpu);

}  // namespace gpukern

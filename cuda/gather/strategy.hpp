// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How a kernel of gather is chosen: the first strategy of a table that serves the call. The table
// is in strategy.cpp; the launch and the explanation of a call both read it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "cuda/gather/fill.cuh"
#include "cuda/gather/problem.hpp"

namespace gpukern::gpu {

/// The inputs of a strategy.
struct GatherLaunch {
  const GatherProblem& problem;
  const Fill& fill;
  void* scratch;  ///< device memory of GatherStrategy::scratch_bytes
  cudaStream_t stream;
};

struct GatherStrategy {
  const char* name;
  bool (*serves)(const GatherProblem&);
  void (*run)(const GatherLaunch&);  ///< only if serves()
  gpukern_compute_path (*path)(const GatherProblem&);
  /// Null for none. If that much memory is not available, the next strategy that serves the call
  /// runs.
  std::int64_t (*scratch_bytes)(const GatherProblem&) = nullptr;
};

/// The table. Its last row serves every problem.
std::span<const GatherStrategy> gather_strategies();

/// Any strides, any alignment, an axis of any number of dimensions, or a tuple, and any loop nest:
/// source, index, out and fill value may move along the same dimension.
void run_strided(const GatherLaunch& launch);
/// The same for single words, an axis of one dimension, a loop nest of up to three, aligned
/// indices and one fill value.
void run_tiles(const GatherLaunch& launch);

// Rows of single words with outer = 1: vectors of indices in, vectors of items out.

/// An item a thread, densely packed in the source.
void run_items_small(const GatherLaunch& launch);
/// An item a thread.
void run_items_single(const GatherLaunch& launch);
/// Two items a thread; one of 16 bytes.
void run_items_pairs(const GatherLaunch& launch);
/// kItemVectors vectors a thread.
void run_items_vectors(const GatherLaunch& launch);
/// A sample of the indices chooses between a kernel for sorted indices far apart and vectors.
void run_sorted_sparse(const GatherLaunch& launch);
std::int64_t sorted_sparse_scratch_bytes(const GatherProblem& problem);

// Rows of single words with many outer positions: the axis is the last one.

/// From rows of the source in shared memory; the axis is contiguous.
void run_last_axis_shared(const GatherLaunch& launch);
/// An index is loaded once for several outer positions.
void run_last_axis(const GatherLaunch& launch);

// Rows of items of any size.

/// A word a thread: fewer than 2^31 words.
void run_rows_small(const GatherLaunch& launch);
/// Through shared memory: aligned words in and out, for any alignment of the items.
void run_shared(const GatherLaunch& launch);
/// kRowWords words a thread.
void run_rows(const GatherLaunch& launch);

}  // namespace gpukern::gpu

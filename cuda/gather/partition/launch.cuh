// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the choice of the partitioned path needs to know of its passes.
#pragma once

#include "cuda/gather/direct.cuh"
#include "cuda/gather/partition/partition.cuh"

namespace gpukern::gpu {

/// The shape of the passes for one call.
struct PartitionPlan {
  int unit = 1;  ///< of runs; 1 means slices in the L2 cache
  int shift = 0;
  std::int64_t buckets = 0;
  std::int64_t capacity = 0;

  [[nodiscard]] bool staged() const { return unit > 1; }
  [[nodiscard]] std::int64_t offset_bytes() const { return staged() ? 2 : 4; }
};

/// Whether the passes run on the current device: with 227 KiB of shared memory for a block, and
/// code for compute capability 9.0 or later. (PTX of an older one, compiled at load, would hold
/// empty kernels; 12.0 has less memory.)
bool partition_kernels_present();

/// Enqueues all passes for whole tiles, and the direct gather of the rest; or returns false where
/// there is no scratch memory.
bool run_partition(Backend& backend, const DirectCall& call, const PartitionPlan& plan,
                   std::int64_t tiles);

}  // namespace gpukern::gpu

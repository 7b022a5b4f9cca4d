// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The parameters of the passes for one call.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/gather/problem.hpp"

namespace gpukern::gpu {

struct PartitionConfig {
  int unit = 1;  ///< items that a run is padded to; 1: slices in the L2 cache
  int shift = 0;
  std::int64_t buckets = 0;
  std::int64_t capacity = 0;
  std::int64_t tiles = 0;

  [[nodiscard]] bool shared_slices() const { return unit > 1; }
  [[nodiscard]] std::int64_t offset_bytes() const { return shared_slices() ? 2 : 4; }
};

/// Of a 1-D gather of single words. No buckets where the call is to be gathered directly.
PartitionConfig partition_config(const GatherProblem& problem);

/// What the sample finds, as shares of all items: those near another, see kNearIndices, and of the
/// others those whose sector was not read before.
struct alignas(16) SampleShares {
  float near = 0;
  float early = 0;  ///< not read by the 96 Ki indices before, on average
  float late = 0;   ///< not by the 192 Ki before
  float far = 0;    ///< of these, those far from the item before

  /// The share that is read from memory: the L2 cache holds what 768 Ki indices read. Up to there
  /// the share falls as it does from 96 to 192 Ki: not at all where some items are read again at
  /// once and the others never.
  [[nodiscard]] __host__ __device__ float of_memory() const {
    const float decay = late < early ? late / early : 1;
    return late * decay * decay * decay * decay * decay * decay;
  }
};

/// Nanoseconds an item, by which the sample chooses between the direct gather and the passes.
struct SampleModel {
  float streamed = 0;  ///< direct: index and result
  float granule = 0;   ///< direct: 64 bytes that DRAM reads for an item alone
  float far = 0;       ///< direct: the same, far from those before
  float passes = 0;    ///< in any case; negative, so that it decides, for a forced partition
  float bucketed = 0;  ///< passes: of an index all over the source
  float left_out = 0;  ///< passes: of one that the sort leaves out, beside reading its item

  /// How much faster the passes are; negative where direct access is.
  [[nodiscard]] __host__ __device__ float gain(const SampleShares& shares) const {
    const float far_share = shares.late > 0 ? shares.far / shares.late : 0;
    const float direct = streamed + shares.of_memory() * (granule + far_share * far);
    return direct - (passes + (1 - shares.near) * bucketed + shares.near * left_out);
  }
};

SampleModel sample_model(const GatherProblem& problem, const PartitionConfig& config);

}  // namespace gpukern::gpu

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

/// Nanoseconds an item, by which the sample chooses between the direct gather and the passes.
struct SampleModel {
  float streamed = 0;  ///< direct: index and result
  float granule = 0;   ///< direct: 64 bytes that DRAM reads for an item alone
  float far = 0;       ///< direct: the same, far from those before
  float passes = 0;    ///< in any case
  float bucketed = 0;  ///< passes: of an index all over the source
  float left_out = 0;  ///< passes: of one that the sort leaves out, beside reading its item

  /// How much faster the passes are; negative where direct access is. The shares are of all items:
  /// that are near; that are read from memory, and of these, that are far.
  [[nodiscard]] __host__ __device__ float gain(float near_share, float of_memory,
                                               float far_share) const {
    const float direct = streamed + of_memory * (granule + far_share * far);
    return direct - (passes + (1 - near_share) * bucketed + near_share * left_out);
  }
};

SampleModel sample_model(const GatherProblem& problem, const PartitionConfig& config);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The parameters of the passes for one call.
#pragma once

#include <cstdint>

#include "cuda/gather/partition/sample_model.hpp"
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

SampleModel sample_model(const GatherProblem& problem, const PartitionConfig& config);

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What a sample of the indices tells about the ways to gather.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace gpukern::gpu {

/// What the sample counts in a run of neighbouring indices; the runs are evenly apart. Granules are
/// the 64 bytes that DRAM reads at least; one in kGranules is sampled.
struct alignas(16) SampleCounts {
  static constexpr int kRuns = 4;
  static constexpr int kRun = 1 << 19;  ///< indices
  static constexpr int kGranules = 512;
  static constexpr int kTested = kRun / 4;  ///< indices that are tested for near ones

  unsigned near;      ///< tested items that are near another, see kNearIndices; not in the others
  unsigned fresh[2];  ///< in each half, items of sampled granules that were not read before
  unsigned far;       ///< fresh ones of both that are more than 1 KiB from the item before

  __host__ __device__ SampleCounts& operator+=(const SampleCounts& other) {
    near += other.near;
    for (int half = 0; half < 2; ++half) fresh[half] += other.fresh[half];
    far += other.far;
    return *this;
  }
};

/// The same of all runs, as shares of all items.
struct SampleShares {
  float near = 0;
  float early = 0;  ///< fresh, in the first half of a run
  float late = 0;   ///< in the second half
  float far = 0;    ///< of the last, those far from the item before

  SampleShares() = default;
  __host__ __device__ SampleShares(float near_, float early_, float late_, float far_)
      : near(near_), early(early_), late(late_), far(far_) {}

  /// Of the counts of all runs.
  __host__ __device__ explicit SampleShares(const SampleCounts& sum)
      : near(static_cast<float>(sum.near) / (SampleCounts::kRuns * SampleCounts::kTested)),
        early(fresh_share(sum.fresh[0])),
        late(fresh_share(sum.fresh[1])) {
    const unsigned fresh = sum.fresh[0] + sum.fresh[1];
    if (fresh > 0) far = late * static_cast<float>(sum.far) / static_cast<float>(fresh);
  }

  /// The share that is read from memory: what is fresh after as many indices as fill a cache of
  /// `cached` granules. The share of fresh items is taken to fall as a power of the number of
  /// indices before: not at all where some items are read again at once and the others never.
  [[nodiscard]] __host__ __device__ float of_memory(float cached) const {
    if (!(late > 0)) return 0;
    constexpr float kRun = SampleCounts::kRun;
    const float read = (early + late) * kRun / 2;
    const float filled = read < cached ? kRun + (cached - read) / late : kRun * cached / read;
    // From the middle of the first half to that of the second, the number grows threefold.
    const float decay = late < early ? late / early : 1;
    return late * std::pow(decay, std::log(filled / (kRun * 3 / 4)) / std::log(3.0F));
  }

 private:
  static __host__ __device__ float fresh_share(unsigned fresh) {
    constexpr float kExpected =
        SampleCounts::kRuns * SampleCounts::kRun / 2 / SampleCounts::kGranules;
    const float share = static_cast<float>(fresh) / kExpected;
    return share < 1 ? share : 1;
  }
};

/// Nanoseconds an item, by which the sample chooses between the direct gather and the passes.
struct SampleModel {
  float streamed = 0;  ///< direct: index and result
  float granule = 0;   ///< direct: 64 bytes that DRAM reads for an item alone
  float far = 0;       ///< direct: the same, far from those before
  float cached = 0;    ///< granules in the L2 cache
  float passes = 0;    ///< of any indices; negative, so that it decides, for a forced partition

  /// How much faster the passes are; negative where direct access is.
  [[nodiscard]] __host__ __device__ float gain(const SampleShares& shares) const {
    const float far_share = shares.late > 0 ? shares.far / shares.late : 0;
    return streamed + shares.of_memory(cached) * (granule + far_share * far) - passes;
  }
};

}  // namespace gpukern::gpu

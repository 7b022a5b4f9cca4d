// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What a sample of the indices tells about the ways to gather.
#pragma once

#include <cuda_runtime.h>

namespace gpukern::gpu {

/// What the sample counts in a run of neighbouring indices; the runs are evenly apart. The first
/// quarter of a run only marks sectors of 32 bytes as read, one in kSectors.
struct alignas(16) SampleCounts {
  static constexpr int kRuns = 4;
  static constexpr int kRun = 1 << 19;  ///< indices
  static constexpr int kSectors = 512;
  static constexpr int kTested = kRun / 8;  ///< indices of the second half, for near items

  unsigned near;  ///< tested items that are near another, see kNearIndices; not in the others

  // Of the second quarter of the run, and of its second half:
  unsigned sampled[2];  ///< items of sampled sectors
  unsigned fresh[2];    ///< whose sector was not read before, one in a granule of 64 bytes

  unsigned far;  ///< fresh ones of both that are more than 1 KiB from the item before

  __host__ __device__ SampleCounts& operator+=(const SampleCounts& other) {
    near += other.near;
    for (int part = 0; part < 2; ++part) {
      sampled[part] += other.sampled[part];
      fresh[part] += other.fresh[part];
    }
    far += other.far;
    return *this;
  }
};

/// The same of all runs, as shares of all items.
struct SampleShares {
  float near = 0;
  float early = 0;  ///< not read by the 192 Ki indices before, on average
  float late = 0;   ///< not by the 384 Ki before
  float far = 0;    ///< of the last, those far from the item before

  SampleShares() = default;
  __host__ __device__ SampleShares(float near_, float early_, float late_, float far_)
      : near(near_), early(early_), late(late_), far(far_) {}

  /// Of the counts of all runs.
  __host__ __device__ explicit SampleShares(const SampleCounts& sum)
      : near(static_cast<float>(sum.near) / (SampleCounts::kRuns * SampleCounts::kTested)),
        early(fresh_share(sum, 0)),
        late(fresh_share(sum, 1)) {
    const unsigned fresh = sum.fresh[0] + sum.fresh[1];
    if (fresh > 0) far = late * static_cast<float>(sum.far) / static_cast<float>(fresh);
  }

  /// The share that is read from memory: the L2 cache holds what 768 Ki indices read. Up to there
  /// the share falls as it does from 192 to 384 Ki: not at all where some items are read again at
  /// once and the others never.
  [[nodiscard]] __host__ __device__ float of_memory() const {
    static_assert(SampleCounts::kRun == 512 << 10, "384 + 2 * 192 is 768");
    const float decay = late < early ? late / early : 1;
    return late * decay * decay;
  }

 private:
  /// The fresh items as a share of the sampled ones, where these are about as many as expected;
  /// else, as where few sectors have most items, of that number.
  [[nodiscard]] __host__ __device__ float fresh_share(const SampleCounts& sum, int part) const {
    const int items = SampleCounts::kRuns * SampleCounts::kRun / (part == 0 ? 4 : 2);
    const float expected = (1 - near) * static_cast<float>(items) / SampleCounts::kSectors;
    const auto found = static_cast<float>(sum.sampled[part]);
    const bool usual = found > 0.8F * expected && found < 1.2F * expected;
    const float of = usual ? found : expected;
    const auto fresh = static_cast<float>(sum.fresh[part]);
    return (1 - near) * (fresh < of ? fresh / of : fresh > 0 ? 1.0F : 0.0F);
  }
};

/// Nanoseconds an item, by which the sample chooses between the direct gather and the passes.
struct SampleModel {
  float streamed = 0;  ///< direct: index and result
  float granule = 0;   ///< direct: 64 bytes that DRAM reads for an item alone
  float far = 0;       ///< direct: the same, far from those before
  float passes = 0;    ///< in any case; negative, so that it decides, for a forced partition
  float bucketed = 0;  ///< passes: of an index all over the source
  float left_out = 0;  ///< passes: of one that the sort leaves out

  /// How much faster the passes are; negative where direct access is.
  [[nodiscard]] __host__ __device__ float gain(const SampleShares& shares) const {
    const float far_share = shares.late > 0 ? shares.far / shares.late : 0;
    const float direct = streamed + shares.of_memory() * (granule + far_share * far);
    return direct - (passes + (1 - shares.near) * bucketed + shares.near * left_out);
  }
};

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Joins the blocks of long keys.
#pragma once

#include "cuda/common/join.cuh"
#include "cuda/scatter/rows.cuh"

namespace gpukern::gpu {

inline constexpr int kJoinThreads = 256;

/// The blocks of a long key, for one column.
template <class A>
struct Blocks {
  const A* first;
  const A* later;  ///< the second block
  std::int64_t stride;

  [[nodiscard]] __device__ A operator()(std::int64_t block) const {
    return block == 0 ? *first : later[(block - 1) * stride];
  }
};

/// The long keys, of which a thread block joins the blocks of one for `width` columns at a time.
template <class T, class Key>
struct JoinedKeys {
  using A = Accumulator<T>;

  const Key* keys;
  const SpreadElements& elements;
  const UpdateColumns<1, true>& columns;
  int width;
  const LongKeys& long_keys;

  [[nodiscard]] __device__ std::int64_t column_tiles() const {
    return (columns.count + width - 1) / width;
  }
  /// Joins every `step`th part of the work from `first` on. All threads of a block call this.
  template <class Reducer>
  __device__ void join(std::int64_t first_work, std::int64_t step, const Reducer& reduction,
                       A* joined) const {
    const auto number = static_cast<std::int64_t>(*long_keys.number);
    const std::int64_t tiles = column_tiles();
    for (std::int64_t work = first_work; work < number * tiles; work += step) {
      const std::int64_t first = long_keys.firsts[work / tiles];
      const std::int64_t column =
          work % tiles * width + static_cast<std::int64_t>(threadIdx.x) % width;
      const std::int64_t values =
          max(long_keys.ends[first / kBlockValues] - first, std::int64_t{0});
      const std::int64_t blocks = values / kBlockValues + 1;  // with the element itself
      const Blocks<A> of{reinterpret_cast<const A*>(long_keys.first_blocks) +
                             first / kBlockValues * columns.count + column,
                         reinterpret_cast<const A*>(long_keys.later_blocks) +
                             (first + kBlockValues - 1) / kBlockValues * columns.count + column,
                         columns.count};
      const bool active = column < columns.count;
      const A sum = join_by_threads<kJoinThreads>(of, blocks, width, active, reduction, joined);
      if (active && static_cast<int>(threadIdx.x) < width)
        store_element(elements.at(keys[first]) + columns.at(column).to,
                      finished<T>(reduction.reduce, sum, values + 1), columns.aligned);
    }
  }
};

}  // namespace gpukern::gpu

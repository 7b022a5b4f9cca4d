// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Updates grouped by a hash table of their keys.
#pragma once

#include <bit>

#include "cuda/common/scratch_layout.hpp"
#include "cuda/scatter/key_of.cuh"

namespace gpukern::gpu {

/// The updates of a key are a group. With more of them than this it is long, and thread blocks
/// combine it.
inline constexpr int kMostShort = 32;
/// Thread blocks that share the columns of a task.
inline constexpr int kMostColumnParts = 8;

struct Slot {
  unsigned long long key;  ///< one more than the key; 0: free
  std::uint32_t last;      ///< without a reduction: one more than the number of the last update
  std::uint32_t number;    ///< of updates
};

struct LongGroup {
  std::uint32_t members;  ///< where its updates begin
  std::uint32_t blocks;   ///< where its blocks of values begin
  std::uint32_t tasks;
  std::uint32_t done[kMostColumnParts];  ///< of the tasks, by part of the columns
};

/// A part of a long group that a thread block combines.
struct Task {
  std::uint32_t slot;
  std::uint32_t block;  ///< its first block of values
};

struct Groups {
  /// Of all long groups.
  struct Totals {
    std::uint32_t members;
    std::uint32_t blocks;
    std::uint32_t tasks;
  };

  std::uint32_t count;  ///< updates
  std::uint32_t size;   ///< slots, a power of two
  Totals* totals;
  Slot* slots;
  std::uint32_t* slot_of;  ///< by update
  // Of reductions alone, by update:
  std::uint32_t* rank = nullptr;  ///< in its group, as they came: the order differs from run to run
  std::uint32_t* short_members = nullptr;  ///< by slot, kMostShort each
  // Of long groups:
  std::uint32_t* members = nullptr;
  Task* tasks = nullptr;
  LongGroup* long_groups = nullptr;  ///< by slot

  Groups(ScratchLayout& layout, std::int64_t updates, bool puts)
      : count(static_cast<std::uint32_t>(updates)),
        size(2 * std::bit_ceil(count)),
        totals(layout.take<Totals>(1)),
        slots(layout.take<Slot>(size)),
        slot_of(layout.take<std::uint32_t>(count)) {
    if (puts) return;
    rank = layout.take<std::uint32_t>(count);
    short_members = layout.take<std::uint32_t>(std::int64_t{size} * kMostShort);
    members = layout.take<std::uint32_t>(count);
    tasks = layout.take<Task>(most_long());
    long_groups = layout.take<LongGroup>(size);
  }

  /// Long groups, their tasks and their blocks of values are no more than this.
  [[nodiscard]] std::int64_t most_long() const {
    return count > kMostShort ? ceil_divide(count, kMostShort) : 0;
  }

  /// The slot of a key, which takes a free one if it has none yet.
  [[nodiscard]] __device__ std::uint32_t find(std::int64_t key) const {
    const auto wanted = static_cast<unsigned long long>(key) + 1;
    for (std::uint32_t at = hash_of(key);; ++at) {
      at &= size - 1;
      const unsigned long long found = atomicCAS(&slots[at].key, 0ULL, wanted);
      if (found == 0 || found == wanted) return at;
    }
  }

  /// Notes a long group. By one thread.
  __device__ void add_long(std::uint32_t slot) const;
};

}  // namespace gpukern::gpu

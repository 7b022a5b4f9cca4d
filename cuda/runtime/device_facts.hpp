// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The properties of a GPU that launches and tunings use.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

/// The part of a block's shared memory that is reserved for variables which kernels declare.
inline constexpr std::int64_t kDeclaredSharedBytes = 2048;

struct DeviceFacts {
  int compute_capability = 0;  ///< 90 is 9.0
  int multiprocessors = 0;
  std::int64_t shared_bytes = 0;  ///< shared memory that a block may use
  std::int64_t l2_bytes = 0;      ///< of the L2 cache
  /// Whether kernels may start while the previous one runs, by programmatic dependent launch. They
  /// wait for its end themselves, by code that exists for compute capability 9.0 and later only:
  /// PTX for an older one, compiled when it is loaded, does not wait.
  bool overlaps_kernels = false;
};

/// The facts of the current device, queried once per device.
DeviceFacts device_facts();

/// The row for a device in a table in ascending order of compute capability.
template <class Tuning, int kLines>
const Tuning& line_for(const Tuning (&table)[kLines], int compute_capability) {
  int line = kLines - 1;
  while (line > 0 && table[line].compute_capability > compute_capability) --line;
  return table[line];
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What launches and tunings ask of a GPU.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

/// Of a block's shared memory, what is reserved for the variables that kernels declare.
inline constexpr std::int64_t kDeclaredSharedBytes = 2048;

struct DeviceFacts {
  int compute_capability = 0;  ///< 90 is 9.0
  int multiprocessors = 0;
  std::int64_t shared_bytes = 0;  ///< of shared memory that a block may ask for
  /// Whether kernels may come while the previous one runs, by programmatic dependent launch. They
  /// wait for its end themselves, in code that is only there from compute capability 9.0 on: PTX
  /// for an older one, compiled at load, is without.
  bool overlaps_kernels = false;
};

/// Of the current device. Asked of CUDA once for each.
DeviceFacts device_facts();

/// The line of a table, ordered by rising compute capability, that serves a device.
template <class Tuning, int kLines>
const Tuning& line_for(const Tuning (&table)[kLines], int compute_capability) {
  int line = kLines - 1;
  while (line > 0 && table[line].compute_capability > compute_capability) --line;
  return table[line];
}

}  // namespace gpukern::gpu

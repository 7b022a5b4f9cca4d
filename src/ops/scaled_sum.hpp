// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What axpby and fma share.
#pragma once

#include <array>

#include "gpukern/arithmetic.h"

namespace gpukern {

struct ScaledSum {
  const char* function;
  std::array<const char*, 4> names;              ///< of the inputs
  std::array<const gpukern_tensor*, 4> tensors;  ///< a, x, b, y; b is 1 if its name is NULL
  const gpukern_tensor* out;
};

/// out = a * x + b * y.
void run_scaled_sum(const ScaledSum& sum, const gpukern_axpby_options* options,
                    const gpukern_exec* exec);

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/core/error.hpp"
#include "src/ops/scaled_sum.hpp"

extern "C" gpukern_status gpukern_fma(const gpukern_tensor* x, const gpukern_tensor* y,
                                      const gpukern_tensor* z, const gpukern_tensor* out,
                                      const gpukern_axpby_options* options,
                                      const gpukern_exec* exec) {
  return gpukern::guard([&] {
    gpukern::run_scaled_sum({"fma", {"x", "y", nullptr, "z"}, {x, y, nullptr, z}, out}, options,
                            exec);
  });
}

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gpukern/arithmetic.h"
#include "src/core/error.hpp"
#include "src/ops/saxpy_list.hpp"

extern "C" gpukern_status gpukern_saxpy_many(const void* a, const gpukern_tensor* const* x,
                                             const gpukern_tensor* const* y,
                                             const gpukern_tensor* const* out, size_t count,
                                             const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern_saxpy_list("saxpy_many", x, y, out, count).run(a, exec); });
}

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Selections from host arrays on a GPU, in chunks.
#pragma once

#include <cstdint>
#include <functional>

#include "src/ops/index_checks.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

/// The tensors of a selection, or of a part of it, where it runs.
struct SelectOperands {
  const Tensor& mask;
  const Tensor* x;  ///< nullptr to write coordinates
  const Tensor& out;
  Axis axis{};  ///< of x, along which the mask selects
  std::int64_t first =
      0;  ///< the position at which the mask begins in that of the call, in C order
  Stream stream = nullptr;
  const Tensor* fill =
      nullptr;  ///< for the rest of out; nullptr for zero bytes, or if there is none
};

/// Enqueues a selection on a device.
using EnqueueSelection = std::function<void(Device& device, const SelectOperands& operands)>;

/// Selects on call.device, with at most `limit` bytes of its memory if that is possible. The host
/// counts the elements of each chunk's mask, and so knows where their items belong. There are
/// elements, and `out` overlaps no input.
void select_in_chunks(const Call& call, const SelectOperands& operands, std::int64_t limit,
                      Progress& progress, const EnqueueSelection& enqueue);

}  // namespace gpukern

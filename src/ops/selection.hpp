// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What operations that select by a mask share: checks, overlap, the choice of the device. Each
// operation adds its arguments.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "src/core/operation.hpp"
#include "src/runtime/call.hpp"

namespace gpukern {

/// Requires a dtype whose zeros are known by their bits.
void require_mask_dtype(const Argument& mask);

/// Checks the options and returns the fill value; nullptr for zero bytes.
const gpukern_tensor* checked_fill(const char* function, const gpukern_select_options* options);

/// The arguments that say what is selected, for the caller to complete.
SelectArgs mask_args(const Tensor& mask);

/// An upper bound of the scratch memory in which a GPU selects `count` elements.
constexpr std::int64_t selection_scratch(std::int64_t count) { return count / 7 + 4096; }

/// Whether device memory holds arrays of these sizes in bytes; if not, explains that the CPU
/// computes.
bool fits_as_whole(const Call& call, std::initializer_list<std::int64_t> sizes,
                   const gpukern_exec* exec);

/// The tensors of a call where it runs; x may be nullptr.
struct SelectOperands {
  const Tensor& mask;
  const Tensor* x;
  const Tensor& out;
};

/// Runs the operation where the call says. Arrays of the host that are computed on a GPU are copied
/// as a whole; those that do not fit, with `scratch` more bytes, are computed on the CPU.
class SelectionRun {
 public:
  SelectionRun(const Call& call, const gpukern_exec* exec, const Tensor& mask, const Tensor* x,
               const Tensor& out, const Tensor& fill)
      : call_(call), exec_(exec), mask_(mask), x_(x), out_(out), fill_(fill) {}

  /// enqueue(device, operands) enqueues the work; `out` overlaps no input.
  template <class Enqueue>
  void run(std::int64_t scratch, const Enqueue& enqueue) const {
    if (call_.is_offloaded() && fits(scratch)) {
      const OperandCopy mask(call_, call_.device, call_.device_id, mask_);
      std::optional<OperandCopy> x;
      if (x_ != nullptr) x.emplace(call_, call_.device, call_.device_id, *x_);
      const Buffer memory(call_.device, out_.bytes(), call_.stream);
      const Tensor out = contiguous_at(memory.data(), call_.device_id, out_);
      enqueue(call_.device, SelectOperands{mask.tensor(), x ? &x->tensor() : nullptr, out});
      return call_.move(out, out_);
    }
    Output out(call_, out_, must_be_apart());
    enqueue(call_.data_device, SelectOperands{mask_, x_, out.tensor()});
    out.finish();
  }

 private:
  [[nodiscard]] bool fits(std::int64_t scratch) const;
  [[nodiscard]] bool must_be_apart() const;

  const Call& call_;
  const gpukern_exec* exec_;
  const Tensor& mask_;
  const Tensor* x_;
  const Tensor& out_;
  const Tensor& fill_;
};

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Several index arrays, one for each of consecutive axes, as one index of these axes flattened.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/ops/gather_args.hpp"
#include "src/runtime/call.hpp"

namespace gpukern {

class RaveledIndex {
 public:
  /// Checks the axes of an array, and dtypes and shapes of the indices, of which `first` belongs to
  /// `axis`.
  RaveledIndex(const char* function, const Tensor& array, const Argument& first,
               const gpukern_tensor* const* further, std::int32_t count, std::int32_t axis);

  /// All the axes.
  [[nodiscard]] const Axis& axes() const { return axes_; }
  /// Of the shape to which the indices broadcast. Only ravel() gives it data that may be read.
  [[nodiscard]] const Argument& index() const { return index_; }

  /// What mode "raise" does first, see gpukern::check_bounds().
  std::int32_t check_bounds(const gpukern_exec* exec);

  /// Computes the index; mode "raise" takes indices that are in bounds, "fill" marks those that are
  /// not, see kNoPosition. Returns the mode in which it is to be used. Called after all other
  /// checks, in the call's cpu::StopScope.
  std::int32_t ravel(std::int32_t mode, const gpukern_exec* exec);

  /// For a device that combines the indices where it uses them: their positions stand in for the
  /// index, whose data is not read, unless ravel() follows. Called once.
  const IndexTuple& tuple(const gpukern_exec* exec);
  [[nodiscard]] bool overlaps(const Tensor& out) const;

 private:
  [[nodiscard]] Axis axis_of(std::size_t k) const;
  /// Requires that all indices are on one device.
  const Call& make_call(const gpukern_exec* exec);
  [[nodiscard]] Tensor broadcast_shape() const;

  const char* function_;
  const Tensor& array_;
  std::vector<Argument> indices_;
  Axis axes_;
  Argument index_;
  IndexTuple tuple_;
  std::optional<Call> call_;
  std::optional<Buffer> memory_;
};

}  // namespace gpukern

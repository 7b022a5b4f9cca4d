// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the calls of operations_fuzz.cpp share: exec, axes, shapes that fit other arguments, and
// optional tensors.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gpukern/explain.h"
#include "tests/fuzz/tensors.hpp"

namespace gpukern_fuzz {

inline std::int32_t progress(void* user, std::uint64_t, std::uint64_t) {
  return user != nullptr ? 1 : 0;
}

inline gpukern_exec exec_fields(Input& input, gpukern_explanation* explanation) {
  constexpr gpukern_device kDevices[] = {
      {GPUKERN_CPU, 0}, {GPUKERN_CUDA, 0}, {GPUKERN_CUDA_HOST, 3}, {-1, -1}};
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  const unsigned flags = input.byte();
  if ((flags & 1) != 0) exec.device = input.pick(kDevices);
  if ((flags & 2) != 0) exec.stream = input.raw<void*>();
  if ((flags & 4) != 0) exec.device_memory_limit = input.raw<std::size_t>();
  if ((flags & 8) != 0) exec.progress = progress;
  if ((flags & 16) != 0) exec.progress_user = &exec;  // it is not accessed
  exec.explanation = explanation;
  return exec;
}

/// One call: its input, its exec and its tensors.
struct Session {
  explicit Session(Input& bytes)
      : input(bytes),
        explanation(input.byte() % 4 == 1
                        ? std::optional<SizedStruct<gpukern_explanation>>(
                              std::in_place, input, gpukern_explanation GPUKERN_EXPLANATION_INIT)
                        : std::nullopt),
        exec(input, exec_fields(input, explanation ? explanation->get() : nullptr)),
        explains(exec.covers(offsetof(gpukern_exec, explanation) + sizeof(void*)) && explanation &&
                 explanation->covers(sizeof(gpukern_explanation))),
        tensors(input, explains) {}

  /// An axis of an array, mostly within its range.
  std::int32_t axis_of(const gpukern_tensor& array) {
    const int next = input.byte();
    const int ndim = std::clamp(array.ndim, 1, GPUKERN_MAX_NDIM);
    if (next < 208) return next % (2 * ndim) - ndim;
    return next < 240 ? GPUKERN_AXIS_NONE : input.raw<std::int32_t>();
  }

  /// The tensor, or nullptr if the input says so.
  [[nodiscard]] const gpukern_tensor* given(const gpukern_tensor& tensor) const {
    return tensors.is_null(tensor) ? nullptr : &tensor;
  }

  Input& input;
  std::optional<SizedStruct<gpukern_explanation>> explanation;
  SizedStruct<gpukern_exec> exec;
  bool explains;
  Tensors tensors;
  const gpukern_tensor* out = nullptr;  ///< the tensor that the call writes to
  bool out_may_change = false;          ///< also if the call fails
};

inline Shape shape_of(const gpukern_tensor& tensor) {
  if (tensor.ndim <= 0 || tensor.ndim > GPUKERN_MAX_NDIM || tensor.shape == nullptr) return {};
  return {tensor.shape, tensor.shape + tensor.ndim};
}

/// The dimensions that an axis names: none of them is out of range.
struct Range {
  Range(const Shape& shape, std::int32_t axis) {
    const auto ndim = static_cast<std::int32_t>(shape.size());
    if (axis == GPUKERN_AXIS_NONE)
      last = ndim;
    else
      first = std::clamp(axis < 0 && axis >= -ndim ? axis + ndim : axis, 0, std::max(ndim - 1, 0));
    if (axis != GPUKERN_AXIS_NONE) last = std::min(first + 1, ndim);
    for (int d = first; d < last; ++d)
      if (__builtin_mul_overflow(length, shape[static_cast<std::size_t>(d)], &length)) length = 0;
  }
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int64_t length = 1;
};

/// A shape with these dimensions replaced by others.
inline Shape replaced(Shape shape, const Range& range, const Shape& by) {
  const auto at = shape.erase(shape.begin() + range.first, shape.begin() + range.last);
  shape.insert(at, by.begin(), by.end());
  if (shape.size() > GPUKERN_MAX_NDIM) shape.resize(GPUKERN_MAX_NDIM);
  return shape;
}

/// The shapes of an array and an index along an axis, broadcast against each other.
inline Shape along(const Shape& array, const Shape& index, const Range& range) {
  if (array.size() != index.size()) return index;
  Shape shape = index;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (static_cast<std::int32_t>(d) != range.first && shape[d] == 1) shape[d] = array[d];
  return shape;
}

/// A fill value for the items of an array: a number, or of the last dimensions.
inline const gpukern_tensor* fill_value(Session& call, const gpukern_tensor& like) {
  const unsigned kind = call.input.byte();
  if (kind % 4 == 0) return nullptr;
  const Shape all = shape_of(like);
  const std::size_t kept = kind % 4 == 1 ? 0 : std::min<std::size_t>(kind / 4 % 4, all.size());
  const Shape shape(all.end() - static_cast<std::ptrdiff_t>(kept), all.end());
  return &call.tensors.add({.shape = &shape, .like = &like});
}

/// Further index tensors: 0 to 2 of them, or a count beside nothing.
struct Further {
  Further(Session& call, const Shape& array, std::int32_t axis, const Shape& shape) {
    const unsigned kind = call.input.byte();
    count = kind < 240 ? static_cast<std::int32_t>(kind % 4) % 3 : call.input.raw<std::int32_t>();
    if (kind >= 240) return;
    for (std::int32_t k = 0; k < count; ++k) {
      const Range range(array, Range(array, axis).first + 1 + k);
      tensors.push_back(call.given(
          call.tensors.add({.contents = Contents::kIndex, .shape = &shape, .axis = range.length})));
    }
  }
  [[nodiscard]] const gpukern_tensor* const* list() const {
    return tensors.empty() ? nullptr : tensors.data();
  }
  /// The dimensions that all index tensors together name, `first` being the one of the first.
  [[nodiscard]] Range axes(Range first, const Shape& array) const {
    if (!tensors.empty())
      first.last = std::min(first.last + count, static_cast<std::int32_t>(array.size()));
    return first;
  }
  std::int32_t count;
  std::vector<const gpukern_tensor*> tensors;
};

}  // namespace gpukern_fuzz

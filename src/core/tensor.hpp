// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A checked view of gpukern_tensor: byte strides, 64-bit sizes that cannot overflow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>

#include "src/core/dtype.hpp"
#include "src/core/error.hpp"

namespace gpukern {

/// A device: the location of memory, or where a call runs. The host, or CUDA device `id`.
struct DeviceId {
  bool cuda = false;
  int id = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// A device as a part of a message: "cpu", "cuda:0".
struct DeviceName {
  DeviceId device;
};
inline DeviceName device_name(DeviceId device) { return {device}; }
std::ostream& operator<<(std::ostream& text, const DeviceName& name);

/// Checks a device of the ABI.
DeviceId checked_device(gpukern_device device, const ArgumentName& name);

struct ShapeText;

struct Tensor {
  // Only the first `ndim` sizes and strides are set, read and copied: the others would take most of
  // the time of a small call.
  Tensor() {}                                     // NOLINT(*-member-init,*-use-equals-default)
  Tensor(const Tensor& other) { *this = other; }  // NOLINT(*-member-init)
  Tensor& operator=(const Tensor& other);
  ~Tensor() = default;

  std::byte* data = nullptr;  ///< of the first element, including byte_offset
  DeviceId device;
  gpukern_dtype dtype{};
  std::int64_t item = 0;   ///< bytes per element
  std::int64_t total = 0;  ///< elements
  int ndim = 0;
  std::array<std::int64_t, GPUKERN_MAX_NDIM> shape;
  std::array<std::int64_t, GPUKERN_MAX_NDIM> stride;  ///< in bytes

  [[nodiscard]] std::int64_t count() const { return total; }
  [[nodiscard]] std::int64_t bytes() const { return total * item; }
  [[nodiscard]] bool contiguous() const;
  [[nodiscard]] ShapeText shape_text() const;
};

/// A shape as a part of a message: "(2, 3)".
struct ShapeText {
  const Tensor& tensor;
};
std::ostream& operator<<(std::ostream& text, const ShapeText& shape);

inline ShapeText Tensor::shape_text() const { return {*this}; }

/// Checks one tensor argument and converts it.
Tensor checked_tensor(const gpukern_tensor* tensor, const ArgumentName& name);

/// A C-contiguous tensor at `data` with the shape and dtype of `like`.
Tensor contiguous_at(void* data, DeviceId device, const Tensor& like);

/// Requires that no dimension of an output has stride 0, so that elements do not overlap.
void require_writable(const Tensor& tensor, const ArgumentName& name);

/// The address `bytes` after `data`, by integer arithmetic: well-defined even for addresses that
/// are not accessed, such as a null pointer in a dry run.
template <class Byte>
Byte* offset_by(Byte* data, std::int64_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<Byte*>(reinterpret_cast<std::uintptr_t>(data) +
                                 static_cast<std::uintptr_t>(bytes));
}

/// The memory between a tensor's first byte and its last one. The tensor must not be empty.
struct Extent {
  const std::byte* begin;
  const std::byte* end;
};
Extent extent_of(const Tensor& tensor);

/// Whether two tensors may share memory. Compares their memory extents, so the result may be a
/// false positive.
bool may_overlap(const Tensor& a, const Tensor& b);

bool same_shape(const Tensor& a, const Tensor& b);

/// A view of a tensor in the shape of another one, by NumPy's rule of broadcasting.
Tensor broadcast_to(const Tensor& values, const Tensor& shape, const ArgumentName& name);

/// Whether both have the same address, shape and strides.
bool same_layout(const Tensor& a, const Tensor& b);

/// Whether out shares memory with the input in any way other than element for element.
bool clashes(const Tensor& out, const Tensor& input);

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A checked view of gpukern_tensor: byte strides, 64-bit sizes that cannot overflow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dtype.hpp"
#include "error.hpp"

namespace gpukern {

/// Where memory lies, or where a call runs: on the host, or on CUDA device `id`.
struct Device {
  bool cuda = false;
  int id = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

std::string device_name(Device device);

/// Checks a device of the ABI; `what` begins the message ("gather: source").
Device checked_device(gpukern_device device, const std::string& what);

struct Tensor {
  std::byte* data = nullptr;  ///< of the first element; byte_offset is in it
  Device device;
  gpukern_dtype dtype{};
  std::int64_t item = 0;  ///< bytes per element
  int ndim = 0;
  std::array<std::int64_t, GPUKERN_MAX_NDIM> shape{};
  std::array<std::int64_t, GPUKERN_MAX_NDIM> stride{};  ///< in bytes

  [[nodiscard]] bool count_is_zero() const;
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::int64_t bytes() const { return count() * item; }
  [[nodiscard]] bool contiguous() const;
  [[nodiscard]] std::string shape_text() const;
};

/// Checks one tensor argument and converts it; `what` names function and argument.
Tensor checked_tensor(const gpukern_tensor* tensor, const std::string& what);

/// As `like`, C-contiguous at `data`.
Tensor contiguous_at(void* data, Device device, const Tensor& like);

/// Requires that no two elements share memory for certain (a zero stride), as an output must.
void require_writable(const Tensor& tensor, const std::string& what);

/// Whether any byte may belong to both: by the extents in memory, so it may err towards true.
bool may_overlap(const Tensor& a, const Tensor& b);

bool same_shape(const Tensor& a, const Tensor& b);

/// Whether both have the same elements at the same places.
bool same_layout(const Tensor& a, const Tensor& b);

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const std::string& what);

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// An owner of device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/runtime/device.hpp"

namespace gpukern {

/// Memory of a device, released in stream order.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::int64_t bytes, Stream stream)
      : device_(&device),
        stream_(stream),
        data_(device.allocate(static_cast<std::size_t>(bytes), stream)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  [[nodiscard]] void* data() const { return data_; }

 private:
  Device* device_ = nullptr;
  Stream stream_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Memory of a backend as a value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/runtime/backend.hpp"

namespace gpukern {

/// Memory of a backend, released in stream order.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Backend& backend, std::int64_t bytes, Stream stream)
      : backend_(&backend),
        stream_(stream),
        data_(backend.allocate(static_cast<std::size_t>(bytes), stream)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  [[nodiscard]] void* data() const { return data_; }

 private:
  Backend* backend_ = nullptr;
  Stream stream_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace gpukern

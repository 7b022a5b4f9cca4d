// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/buffer.hpp"

#include <utility>

#include "src/runtime/attempt.hpp"

namespace gpukern {

Buffer::Buffer(Buffer&& other) noexcept
    : device_(other.device_), stream_(other.stream_), data_(std::exchange(other.data_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  std::swap(data_, other.data_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) attempt([&] { device_->release(data_, stream_); });
}

}  // namespace gpukern

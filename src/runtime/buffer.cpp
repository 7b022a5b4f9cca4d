// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/buffer.hpp"

#include <utility>

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
  if (data_ == nullptr) return;
  try {
    device_->release(data_, stream_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): nothing is left to do
    // Fails only in an unusable CUDA context; the error that caused that is reported to the caller.
  }
}

}  // namespace gpukern

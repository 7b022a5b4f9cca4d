// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Ranges of addresses, and memory of devices that is mapped into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpukern/table.h"

namespace gpukern {

/// CUDA's virtual memory management, or what takes its place in a test. All sizes are multiples of
/// kTablePage.
class VirtualMemory {
 public:
  using Allocation = std::uint64_t;

  VirtualMemory() = default;
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;
  virtual ~VirtualMemory() = default;

  virtual std::byte* reserve(std::size_t bytes) = 0;
  virtual void free(std::byte* range, std::size_t bytes) = 0;

  /// Allocates memory of a device; `exported` allocates such that export_handle() is possible.
  virtual Allocation allocate(int device, std::size_t bytes, bool exported) = 0;
  virtual void release(Allocation allocation) = 0;
  /// Throws GPUKERN_DEVICE_ERROR if there is no such handle.
  virtual gpukern_table_handle export_handle(Allocation allocation, gpukern_handle_type type) = 0;
  virtual Allocation import_handle(const gpukern_table_handle& handle) = 0;

  virtual void map(std::byte* at, std::size_t bytes, Allocation allocation) = 0;
  virtual void unmap(std::byte* at, std::size_t bytes) = 0;
  /// Lets devices read and write what is mapped.
  virtual void allow(std::byte* at, std::size_t bytes, std::span<const int> devices) = 0;
};

constexpr std::size_t kTablePage = std::size_t{2} << 20;

/// Throws GPUKERN_DEVICE_ERROR if there is no CUDA device.
VirtualMemory& virtual_memory();

}  // namespace gpukern

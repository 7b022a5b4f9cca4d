// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Virtual memory of the fake GPU: files in memory, which other mappings and processes can open.
#pragma once

#include <map>

#include "src/runtime/virtual_memory.hpp"

namespace gpukern_test {

class FakeVirtualMemory final : public gpukern::VirtualMemory {
 public:
  std::byte* reserve(std::size_t bytes) override;
  void free(std::byte* range, std::size_t bytes) override;
  Allocation allocate(int device, std::size_t bytes, bool exported) override;
  void release(Allocation allocation) override;
  gpukern_table_handle export_handle(Allocation allocation, gpukern_handle_type type) override;
  Allocation import_handle(const gpukern_table_handle& handle) override;
  void map(std::byte* at, std::size_t bytes, Allocation allocation) override;
  void unmap(std::byte* at, std::size_t bytes) override;
  void allow(std::byte* at, std::size_t bytes, std::span<const int> devices) override;

  /// Reserved ranges, allocations and mappings.
  [[nodiscard]] int in_use() const { return in_use_; }
  /// Lets the n-th call from now on fail, 1 being the next; 0 none.
  void fail_call(int n) { fails_in_ = n; }
  /// Whether there are fabric handles.
  void have_fabric(bool fabric) { fabric_ = fabric; }

 private:
  void count_call();

  std::map<std::byte*, std::size_t> allowed_;
  int in_use_ = 0;
  int fails_in_ = 0;
  bool fabric_ = false;
};

FakeVirtualMemory& fake_virtual_memory();

}  // namespace gpukern_test

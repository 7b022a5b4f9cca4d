// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "fake_virtual_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "cuda/runtime/backend.hpp"
#include "fake_gpu.hpp"
#include "src/core/error.hpp"

namespace gpukern_test {

using gpukern::require;

FakeVirtualMemory& fake_virtual_memory() {
  static auto& memory = *new FakeVirtualMemory;
  return memory;
}

void FakeVirtualMemory::count_call() {
  if (fails_in_ == 0) return;
  require(--fails_in_ > 0, GPUKERN_CUDA_ERROR, "this call was made to fail");
}

std::byte* FakeVirtualMemory::reserve(std::size_t bytes) {
  count_call();
  void* const range =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(range != MAP_FAILED, GPUKERN_MEMORY_ERROR, "there are no addresses for a table");
  ++in_use_;
  return static_cast<std::byte*>(range);
}

void FakeVirtualMemory::free(std::byte* range, std::size_t bytes) {
  munmap(range, bytes);
  --in_use_;
}

gpukern::VirtualMemory::Allocation FakeVirtualMemory::allocate(int /*device*/, std::size_t bytes,
                                                               bool /*exported*/) {
  count_call();
  const int file = memfd_create("fake GPU", 0);
  require(file >= 0, GPUKERN_MEMORY_ERROR, "no memory");
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    gpukern::fail(GPUKERN_MEMORY_ERROR, "no memory");
  }
  ++in_use_;
  return static_cast<Allocation>(file);
}

void FakeVirtualMemory::release(Allocation allocation) {
  close(static_cast<int>(allocation));
  --in_use_;
}

gpukern_table_handle FakeVirtualMemory::export_handle(Allocation allocation,
                                                      gpukern_handle_type type) {
  count_call();
  const int file = static_cast<int>(allocation);
  gpukern_table_handle handle{type, -1, {}};
  if (type == GPUKERN_HANDLE_FILE) {
    handle.file = dup(file);
    require(handle.file >= 0, GPUKERN_CUDA_ERROR, "no handle");
    return handle;
  }
  require(fabric_, GPUKERN_DEVICE_ERROR, "this system has no fabric handles of GPU memory");
  std::memcpy(handle.fabric, &file, sizeof file);
  return handle;
}

gpukern::VirtualMemory::Allocation FakeVirtualMemory::import_handle(
    const gpukern_table_handle& handle) {
  count_call();
  int file = handle.file;
  if (handle.type == GPUKERN_HANDLE_FABRIC) std::memcpy(&file, handle.fabric, sizeof file);
  file = dup(file);
  require(file >= 0, GPUKERN_CUDA_ERROR, "invalid handle");
  ++in_use_;
  return static_cast<Allocation>(file);
}

void FakeVirtualMemory::map(std::byte* at, std::size_t bytes, Allocation allocation) {
  count_call();
  const void* const found = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                 static_cast<int>(allocation), 0);
  require(found != MAP_FAILED, GPUKERN_CUDA_ERROR, "not mapped");
  ++in_use_;
}

void FakeVirtualMemory::unmap(std::byte* at, std::size_t bytes) {
  const void* const found =
      mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  require(found != MAP_FAILED, GPUKERN_CUDA_ERROR, "not unmapped");
  if (allowed_.erase(at) != 0) fake_gpu().remove_memory(at);
  --in_use_;
}

void FakeVirtualMemory::allow(std::byte* at, std::size_t bytes, std::span<const int> /*devices*/) {
  count_call();
  allowed_.emplace(at, bytes);
  fake_gpu().add_memory(at, bytes);
}

}  // namespace gpukern_test

namespace gpukern::gpu {

VirtualMemory& virtual_memory() { return gpukern_test::fake_virtual_memory(); }

}  // namespace gpukern::gpu

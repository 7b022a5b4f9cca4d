// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <iterator>

#include "capture.hpp"
#include "driver.hpp"
#include "host_memory.hpp"

namespace gpukern::gpu {
namespace {

/// Host memory as the driver knows it; zeros where it does not.
struct Known {
  CUmemorytype type{};
  unsigned managed = 0;
  CUdeviceptr seen = 0;   ///< by the current device
  CUdeviceptr start = 0;  ///< of the allocation

  explicit Known(const void* data) {
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
    void* answers[] = {&type, &managed, &seen, &start};
    check(driver().pointer_attributes(std::size(wanted), wanted, answers,
                                      reinterpret_cast<CUdeviceptr>(data)),
          "cuPointerGetAttributes");
  }
  [[nodiscard]] bool pinned() const {
    return type == CU_MEMORYTYPE_HOST && managed == 0 && seen != 0;
  }
};

}  // namespace

void* allocate_pinned(std::size_t bytes) {
  const RelaxedCapture relaxed;
  void* data = nullptr;
  const cudaError_t error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail(GPUKERN_MEMORY_ERROR, "out of host memory that can be page-locked (", bytes,
         " bytes wanted)");
  }
  check(error, "cudaHostAlloc");
  return data;
}

void release_pinned(void* data) {
  const RelaxedCapture relaxed;
  check(cudaFreeHost(data), "cudaFreeHost");
}

std::byte* pinned_view(const std::byte* begin, const std::byte* end) {
  const Known first(begin);
  if (!first.pinned()) return nullptr;
  // A view may begin in page-locked memory and end behind it, where the device must not read.
  const Known last(end - 1);
  const bool in_one_piece = last.pinned() && first.start == last.start &&
                            last.seen - first.seen == static_cast<CUdeviceptr>(end - 1 - begin);
  return in_one_piece ? reinterpret_cast<std::byte*>(first.seen) : nullptr;
}

}  // namespace gpukern::gpu

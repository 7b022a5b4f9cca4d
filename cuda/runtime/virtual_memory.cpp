// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/virtual_memory.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

#include "cuda/runtime/backend.hpp"
#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/driver.hpp"
#include "src/core/make_once.hpp"
#include "src/runtime/virtual_memory.hpp"

namespace gpukern::gpu {
namespace {

constexpr auto kFile = static_cast<CUmemAllocationHandleType>(GPUKERN_HANDLE_FILE);
constexpr auto kFabric = static_cast<CUmemAllocationHandleType>(GPUKERN_HANDLE_FABRIC);
constexpr auto kBoth = static_cast<CUmemAllocationHandleType>(kFile | kFabric);

CUdeviceptr pointer(const std::byte* address) { return reinterpret_cast<CUdeviceptr>(address); }

/// The properties of memory of a device that has these handles.
CUmemAllocationProp properties_of(int device, CUmemAllocationHandleType handles) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  properties.requestedHandleTypes = handles;
  return properties;
}

class CudaVirtualMemory final : public VirtualMemory {
 public:
  CudaVirtualMemory() {
    find("cuMemAddressReserve", driver_.reserve);
    find("cuMemAddressFree", driver_.free);
    find("cuMemCreate", driver_.create);
    find("cuMemRelease", driver_.release);
    find("cuMemMap", driver_.map);
    find("cuMemUnmap", driver_.unmap);
    find("cuMemSetAccess", driver_.set_access);
    find("cuMemGetAllocationGranularity", driver_.granularity);
    find("cuMemExportToShareableHandle", driver_.export_handle);
    find("cuMemImportFromShareableHandle", driver_.import_handle);
  }

  std::byte* reserve(std::size_t bytes) override {
    require_no_fork();
    const RelaxedCapture relaxed;
    CUdeviceptr range = 0;
    const CUresult result = driver_.reserve(&range, bytes, kTablePage, 0, 0);
    require(result == CUDA_SUCCESS, GPUKERN_MEMORY_ERROR, "there are no addresses for a table of ",
            bytes, " bytes (driver error ", static_cast<int>(result), ")");
    return reinterpret_cast<std::byte*>(range);
  }
  void free(std::byte* range, std::size_t bytes) override {
    const RelaxedCapture relaxed;
    check(driver_.free(pointer(range), bytes), "cuMemAddressFree");
  }

  Allocation allocate(int device, std::size_t bytes, bool exported) override {
    const RelaxedCapture relaxed;
    const auto none = CU_MEM_HANDLE_TYPE_NONE;
    require_page(device);
    CUmemGenericAllocationHandle made = 0;
    CUresult result = create(made, device, bytes, exported ? kBoth : none);
    // Without a fabric manager there are no fabric handles, whatever the GPU says.
    if (exported && result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY)
      result = create(made, device, bytes, kFile);
    require(result != CUDA_ERROR_OUT_OF_MEMORY, GPUKERN_MEMORY_ERROR, "cuda:", device,
            " is out of memory (", bytes, " bytes wanted)");
    check(result, "cuMemCreate");
    return made;
  }
  void release(Allocation allocation) override {
    const RelaxedCapture relaxed;
    check(driver_.release(allocation), "cuMemRelease");
  }

  gpukern_table_handle export_handle(Allocation allocation, gpukern_handle_type type) override {
    gpukern_table_handle handle{.type = type, .file = -1, .fabric = {}};
    void* const to = type == GPUKERN_HANDLE_FILE ? static_cast<void*>(&handle.file) : handle.fabric;
    const CUresult result =
        driver_.export_handle(to, allocation, static_cast<CUmemAllocationHandleType>(type), 0);
    require(result == CUDA_SUCCESS, GPUKERN_DEVICE_ERROR, "this system has no ",
            type == GPUKERN_HANDLE_FILE ? "file" : "fabric",
            " handles of GPU memory (driver error ", static_cast<int>(result), ")");
    return handle;
  }
  Allocation import_handle(const gpukern_table_handle& handle) override {
    const RelaxedCapture relaxed;
    CUmemGenericAllocationHandle made = 0;
    void* const from = handle.type == GPUKERN_HANDLE_FILE
                           ? reinterpret_cast<void*>(static_cast<std::intptr_t>(handle.file))
                           : const_cast<unsigned char*>(handle.fabric);
    check(driver_.import_handle(&made, from, static_cast<CUmemAllocationHandleType>(handle.type)),
          "cuMemImportFromShareableHandle");
    return made;
  }

  void map(std::byte* at, std::size_t bytes, Allocation allocation) override {
    const RelaxedCapture relaxed;
    check(driver_.map(pointer(at), bytes, 0, allocation, 0), "cuMemMap");
  }
  void unmap(std::byte* at, std::size_t bytes) override {
    const RelaxedCapture relaxed;
    check(driver_.unmap(pointer(at), bytes), "cuMemUnmap");
  }
  void allow(std::byte* at, std::size_t bytes, std::span<const int> devices) override {
    const RelaxedCapture relaxed;
    for (const int device : devices) {
      const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                                   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      const CUresult result = driver_.set_access(pointer(at), bytes, &access, 1);
      require(result == CUDA_SUCCESS, GPUKERN_DEVICE_ERROR, "cuda:", device,
              " cannot access the memory of another GPU of the table: they need NVLink, or peer "
              "access over PCIe (driver error ",
              static_cast<int>(result), ")");
    }
  }

 private:
  CUresult create(CUmemGenericAllocationHandle& made, int device, std::size_t bytes,
                  CUmemAllocationHandleType handles) const {
    const CUmemAllocationProp properties = properties_of(device, handles);
    return driver_.create(&made, bytes, &properties, 0);
  }

  void require_page(int device) const {
    std::size_t page = 0;
    const CUmemAllocationProp properties = properties_of(device, CU_MEM_HANDLE_TYPE_NONE);
    check(driver_.granularity(&page, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");
    require(page > 0 && kTablePage % page == 0, GPUKERN_DEVICE_ERROR, "cuda:", device,
            " has pages of ", page, " bytes, which do not divide those of a table, ", kTablePage);
  }

  VirtualMemoryDriver driver_;
};

constinit std::atomic<CudaVirtualMemory*> instance{nullptr};

}  // namespace

// Never destroyed: tables may outlive all static objects.
VirtualMemory& virtual_memory() {
  return make_once(instance, [] { return std::make_unique<CudaVirtualMemory>(); });
}

}  // namespace gpukern::gpu

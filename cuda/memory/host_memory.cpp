// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/memory/host_memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cuda/runtime/backend.hpp"
#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/driver.hpp"
#include "src/core/make_once.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::gpu {
namespace {

/// The driver's attributes of host memory; zeros for memory that it does not know.
struct Known {
  CUmemorytype type{};
  unsigned managed = 0;
  CUdeviceptr seen = 0;   ///< address for the current device
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

/// From this number of bytes on, memory is mapped with huge pages, allocated by all threads, and
/// then page-locked, which is several times faster than cudaHostAlloc.
constexpr std::size_t kMapFrom = std::size_t{64} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// The minimum that a thread allocates, in huge pages.
constexpr std::int64_t kPagesOfThread = 16;
// Missing in older headers: MADV_POPULATE_WRITE of Linux 5.14, MADV_COLLAPSE of 6.1.
constexpr int kPopulate = 23;
constexpr int kCollapse = 25;

/// Maps whole huge pages, aligned to their size; null without address space. Like the memory of
/// cudaHostAlloc, it is shared with the children of a fork(). A fork() would copy private pages:
/// for the child, or on older kernels for the parent at its next write, while the GPU continues to
/// use the original pages.
std::byte* map_shared(std::size_t bytes) {
  const std::size_t room = bytes + kHugePage;
  void* const base =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  auto* const data = static_cast<std::byte*>(base) + (kHugePage - address % kHugePage) % kHugePage;
  // The mapping is aligned to huge pages in the underlying file as well.
  const void* const found =
      mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (found == MAP_FAILED) {
    static_cast<void>(munmap(base, room));
    return nullptr;
  }
  std::byte* const end = data + bytes;
  std::byte* const room_end = static_cast<std::byte*>(base) + room;
  if (data != base)
    static_cast<void>(munmap(base, static_cast<std::size_t>(data - static_cast<std::byte*>(base))));
  if (end != room_end) static_cast<void>(munmap(end, static_cast<std::size_t>(room_end - end)));
  return data;
}

/// Allocates the pages of a part: huge pages if the kernel supports them, for shared memory
/// regardless of its settings; else small ones. Page-locking allocates any that remain.
void populate(std::byte* data, std::size_t bytes) {
  // The kernel collapses to a huge page only where a small page is present.
  for (std::size_t at = 0; at < bytes; at += kHugePage)
    static_cast<void>(madvise(data + at, 1, kPopulate));
  if (madvise(data, bytes, kCollapse) != 0) static_cast<void>(madvise(data, bytes, kPopulate));
}

void populate_by_all(std::byte* data, std::size_t bytes) {
  cpu::parallel_for(static_cast<std::int64_t>(bytes / kHugePage), kPagesOfThread,
                    [data](std::int64_t begin, std::int64_t end) {
                      populate(data + static_cast<std::size_t>(begin) * kHugePage,
                               static_cast<std::size_t>(end - begin) * kHugePage);
                    });
}

/// Page-locked memory.
struct Piece {
  std::byte* data = nullptr;
  std::size_t mapped = 0;       ///< bytes mapped by map_shared(); 0 for memory of cudaHostAlloc
  CUcontext context = nullptr;  ///< in which it was locked and must be unlocked
  bool of_caller = false;       ///< and only locked here
};

/// Returns null data if this fails; cudaHostAlloc then reports the reason.
Piece lock_mapped(std::size_t bytes) {
  Piece piece;
  piece.mapped = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  piece.data = map_shared(piece.mapped);
  if (piece.data == nullptr) return {};
  populate_by_all(piece.data, piece.mapped);
  if (cudaHostRegister(piece.data, piece.mapped, cudaHostRegisterPortable) == cudaSuccess)
    return piece;
  static_cast<void>(cudaGetLastError());
  static_cast<void>(munmap(piece.data, piece.mapped));
  return {};
}

Piece lock_by_cuda(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail(GPUKERN_MEMORY_ERROR, "out of host memory that can be page-locked (", bytes,
         " bytes wanted)");
  }
  check(error, "cudaHostAlloc");
  return {.data = static_cast<std::byte*>(data)};
}

/// All page-locked memory.
struct Pieces {
  std::mutex mutex;
  std::map<void*, Piece> at;
};

constinit std::atomic<Pieces*> all_pieces{nullptr};

// Never destroyed: memory may be released after static destructors have run.
Pieces& pieces() {
  return make_once(all_pieces, [] { return std::make_unique<Pieces>(); });
}

/// Adds the piece that `lock` returns.
template <class Lock>
void* add_piece(const Lock& lock_memory) {
  const RelaxedCapture relaxed;
  // Allocated first: nothing may throw once memory is locked.
  Pieces& all = pieces();
  std::map<void*, Piece> fresh{{nullptr, {}}};
  auto node = fresh.extract(nullptr);
  CUcontext context = nullptr;
  check(driver().get_current(&context), "cuCtxGetCurrent");
  node.mapped() = lock_memory();
  node.mapped().context = context;
  node.key() = node.mapped().data;
  const std::scoped_lock lock(all.mutex);
  // An entry of the same address is of memory that is no longer locked, by other means than ours.
  all.at.erase(node.key());
  return all.at.insert(std::move(node)).position->first;
}

/// Removes a piece, that of a caller or that of allocate_pinned().
Piece take_piece(void* data, bool of_caller, const char* message) {
  require_no_fork();
  Pieces& all = pieces();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.at.find(data);
  require(found != all.at.end() && found->second.of_caller == of_caller, GPUKERN_VALUE_ERROR,
          message);
  return all.at.extract(found).mapped();
}

Piece lock_of_caller(void* data, std::size_t bytes) {
  const cudaError_t error = cudaHostRegister(data, bytes, cudaHostRegisterPortable);
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    fail(GPUKERN_MEMORY_ERROR, "pin: ", bytes, " bytes of host memory cannot be page-locked");
  }
  check(error, "cudaHostRegister");
  return {.data = static_cast<std::byte*>(data), .of_caller = true};
}

}  // namespace

void* allocate_pinned(std::size_t bytes) {
  return add_piece([bytes] {
    Piece piece;
    if (bytes >= kMapFrom) piece = lock_mapped(bytes);
    return piece.data != nullptr ? piece : lock_by_cuda(bytes);
  });
}

void pin(void* data, std::size_t bytes) {
  add_piece([data, bytes] { return lock_of_caller(data, bytes); });
}

void unpin(void* data) {
  const Piece piece = take_piece(data, true, "unpin: data must be memory of gpukern_pin()");
  const ContextGuard guard(piece.context);
  const RelaxedCapture relaxed;
  check(cudaHostUnregister(data), "cudaHostUnregister");
}

void release_pinned(void* data) {
  const Piece piece =
      take_piece(data, false, "release: data must be page-locked memory of gpukern_allocate()");
  const ContextGuard guard(piece.context);
  const RelaxedCapture relaxed;
  if (piece.mapped == 0) return check(cudaFreeHost(data), "cudaFreeHost");
  const cudaError_t error = cudaHostUnregister(data);
  static_cast<void>(munmap(data, piece.mapped));
  check(error, "cudaHostUnregister");
}

int pinning_device(int wanted) {
  require_no_fork();
  CUcontext current = nullptr;
  check(driver().get_current(&current), "cuCtxGetCurrent");
  CUdevice at_work = CU_DEVICE_INVALID;
  if (current != nullptr) check(driver().current_device(&at_work), "cuCtxGetDevice");
  for (int id = 0; id < cuda_status().device_count; ++id) {
    CUdevice device = 0;
    unsigned flags = 0;
    int active = 0;
    check(driver().device(&device, id), "cuDeviceGet");
    if (current == nullptr)
      check(driver().primary_state(device, &flags, &active), "cuDevicePrimaryCtxGetState");
    if (device == at_work || active != 0) return id;
  }
  return wanted;
}

std::byte* pinned_view(const std::byte* begin, const std::byte* end) {
  const Known first(begin);
  if (!first.pinned()) return nullptr;
  // A view may begin in page-locked memory and end after it, where the device must not read.
  const Known last(end - 1);
  const bool in_one_piece = last.pinned() && first.start == last.start &&
                            last.seen - first.seen == static_cast<CUdeviceptr>(end - 1 - begin);
  return in_one_piece ? reinterpret_cast<std::byte*>(first.seen) : nullptr;
}

}  // namespace gpukern::gpu

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Memory, files and threads.
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include "stub.hpp"

namespace gpukern_torture {
namespace {

constexpr Site kNew{"operator new", Kind::Memory};

/// Precedes each block of operator new.
struct Header {
  bool counted;
};

void* new_block(std::size_t bytes, std::size_t alignment) {
  if (fails(kNew)) return nullptr;
  const std::size_t before =
      alignment < alignof(std::max_align_t) ? alignof(std::max_align_t) : alignment;
  void* base = nullptr;
  if (bytes > PTRDIFF_MAX - before || posix_memalign(&base, before, bytes + before) != 0)
    return nullptr;
  std::byte* const block = static_cast<std::byte*>(base) + before;
  const bool counted = !Outside::active();
  new (block - alignof(std::max_align_t)) Header{counted};
  if (counted) hold(Resource::Block, 1);
  return block;
}

void* new_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const block = new_block(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void delete_block(void* data, std::size_t alignment) {
  if (data == nullptr) return;
  auto* const block = static_cast<std::byte*>(data);
  if (reinterpret_cast<Header*>(block - alignof(std::max_align_t))->counted)
    hold(Resource::Block, -1);
  std::free(block -
            (alignment < alignof(std::max_align_t) ? alignof(std::max_align_t) : alignment));
}

}  // namespace

}  // namespace gpukern_torture

void* operator new(std::size_t bytes) { return gpukern_torture::new_or_throw(bytes, 0); }
void* operator new[](std::size_t bytes) { return gpukern_torture::new_or_throw(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return gpukern_torture::new_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return gpukern_torture::new_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return gpukern_torture::new_block(bytes, 0);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return gpukern_torture::new_block(bytes, 0);
}
void operator delete(void* data) noexcept { gpukern_torture::delete_block(data, 0); }
void operator delete[](void* data) noexcept { gpukern_torture::delete_block(data, 0); }
void operator delete(void* data, std::size_t) noexcept { gpukern_torture::delete_block(data, 0); }
void operator delete[](void* data, std::size_t) noexcept { gpukern_torture::delete_block(data, 0); }
void operator delete(void* data, std::align_val_t alignment) noexcept {
  gpukern_torture::delete_block(data, static_cast<std::size_t>(alignment));
}
void operator delete[](void* data, std::align_val_t alignment) noexcept {
  gpukern_torture::delete_block(data, static_cast<std::size_t>(alignment));
}
void operator delete(void* data, std::size_t, std::align_val_t alignment) noexcept {
  gpukern_torture::delete_block(data, static_cast<std::size_t>(alignment));
}
void operator delete[](void* data, std::size_t, std::align_val_t alignment) noexcept {
  gpukern_torture::delete_block(data, static_cast<std::size_t>(alignment));
}

GPUKERN_TORTURE_WRAP(read, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(write, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(close, Release, File, -1)
GPUKERN_TORTURE_WRAP(closedir, Release, File, -1)
GPUKERN_TORTURE_WRAP(opendir, Tolerated, File, 1)
GPUKERN_TORTURE_WRAP(fdopendir, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(readdir, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(fstat, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(fstatat, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(futimens, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(mkdir, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(renameat, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(unlinkat, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(atexit, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(sched_getaffinity, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(sched_getcpu, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(pthread_getaffinity_np, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(pthread_setaffinity_np, Tolerated, File, 0)

// Functions with "...", and members of C++ classes. The linker sets the names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)

extern "C" int __real_open(const char* path, int flags, ...);
extern "C" int __wrap_open(const char* path, int flags, ...) {
  static constexpr gpukern_torture::Site kSite{"open", gpukern_torture::Kind::Tolerated};
  std::va_list more;
  va_start(more, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
  va_end(more);
  if (gpukern_torture::fails(kSite)) return gpukern_torture::refuse();
  const int file = __real_open(path, flags, mode);
  if (file >= 0 && !gpukern_torture::Outside::active())
    gpukern_torture::hold(gpukern_torture::Resource::File, 1);
  return file;
}

extern "C" int __real_openat(int directory, const char* path, int flags, ...);
extern "C" int __wrap_openat(int directory, const char* path, int flags, ...) {
  static constexpr gpukern_torture::Site kSite{"openat", gpukern_torture::Kind::Tolerated};
  std::va_list more;
  va_start(more, flags);
  const int mode = va_arg(more, int);  // the library always passes one
  va_end(more);
  if (gpukern_torture::fails(kSite)) return gpukern_torture::refuse();
  const int file = __real_openat(directory, path, flags, mode);
  if (file >= 0 && !gpukern_torture::Outside::active())
    gpukern_torture::hold(gpukern_torture::Resource::File, 1);
  return file;
}

// std::thread's start: the state is a std::unique_ptr, which is passed by its address.
extern "C" void
__real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    void* thread, void* state, void (*depend)());
extern "C" void
__wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    void* thread, void* state, void (*depend)()) {
  static constexpr gpukern_torture::Site kSite{"std::thread", gpukern_torture::Kind::Tolerated};
  const bool failed = gpukern_torture::fails(kSite);
  const gpukern_torture::Outside outside;
  if (failed) throw std::system_error(EAGAIN, std::generic_category());
  __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
      thread, state, depend);
}

// std::basic_filebuf<char>::open().
extern "C" void* __real__ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode(
    void* file, const char* path, int mode);
extern "C" void* __wrap__ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode(
    void* file, const char* path, int mode) {
  static constexpr gpukern_torture::Site kSite{"std::filebuf::open",
                                               gpukern_torture::Kind::Tolerated};
  if (gpukern_torture::fails(kSite)) return nullptr;
  return __real__ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode(file, path,
                                                                                    mode);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

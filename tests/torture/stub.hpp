// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Puts a function of the same type in place of one that the library calls. The linker's --wrap=name
// turns the library's references to `name` into references to `__wrap_name`.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <type_traits>

#include "faults.hpp"

namespace gpukern_torture {

/// How calls of one interface fail: `error` makes the result of a failed call.
template <class Result>
struct FailedCall;

/// The error of a failed call: not ENOENT or EEXIST, which the library expects.
inline int refuse() {
  errno = EIO;
  return -1;
}

template <>
struct FailedCall<int> {
  static int result(const Site&) { return refuse(); }
  static bool succeeded(int result) { return result >= 0; }
};
template <>
struct FailedCall<ssize_t> {
  static ssize_t result(const Site&) { return refuse(); }
  static bool succeeded(ssize_t result) { return result >= 0; }
};
template <class T>
struct FailedCall<T*> {
  static T* result(const Site&) {
    refuse();
    return nullptr;
  }
  static bool succeeded(T* result) { return result != nullptr; }
};

/// A function that counts its calls for `site`, and calls `real` unless it must fail.
template <auto& site, auto real, Resource resource, int change,
          class Function = std::remove_pointer_t<decltype(real)>>
struct Stub;

template <auto& site, auto real, Resource resource, int change, class Result, class... Arguments>
struct Stub<site, real, resource, change, Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    if (Outside::active()) return real(arguments...);
    const bool failed = fails(site);
    const bool acts_first = site.kind == Kind::Release || site.kind == Kind::Wait;
    if (failed && !acts_first) return FailedCall<Result>::result(site);
    const Outside outside;
    const Result result = real(arguments...);
    if (change != 0 && FailedCall<Result>::succeeded(result)) hold(resource, change);
    return failed ? FailedCall<Result>::result(site) : result;
  }
};

template <auto& site, auto real, Resource resource, int change, class Result, class... Arguments>
struct Stub<site, real, resource, change, Result(Arguments...) noexcept>
    : Stub<site, real, resource, change, Result(Arguments...)> {};

}  // namespace gpukern_torture

// A jump through a pointer: it needs no arguments to be named, and works for any type of function.
#if defined(__x86_64__)
#define GPUKERN_TORTURE_JUMP(name) "jmp *torture_" name "(%rip)\n"
#elif defined(__aarch64__)
#define GPUKERN_TORTURE_JUMP(name) \
  "adrp x16, torture_" name "\nldr x16, [x16, :lo12:torture_" name "]\nbr x16\n"
#else
#error "no jump for this processor"
#endif

/// Defines __wrap_<name> for a C function whose declaration is included.
#define GPUKERN_TORTURE_WRAP(name, kind, resource, change) \
  GPUKERN_TORTURE_WRAP_AS(name, decltype(name), kind, resource, change)

/// The same for a function of a type that must be named, since there are overloads.
#define GPUKERN_TORTURE_WRAP_AS(name, type, kind, resource, change)               \
  extern "C" std::type_identity_t<type> __real_##name;                            \
  namespace gpukern_torture {                                                     \
  static constexpr Site site_##name{#name, Kind::kind};                           \
  }                                                                               \
  extern "C" {                                                                    \
  extern void* torture_##name;                                                    \
  [[gnu::used]] void* torture_##name = reinterpret_cast<void*>(                   \
      &gpukern_torture::Stub<gpukern_torture::site_##name, &__real_##name,        \
                             gpukern_torture::Resource::resource, change>::call); \
  }                                                                               \
  asm(".pushsection .text\n.globl __wrap_" #name "\n.type __wrap_" #name          \
      ", %function\n"                                                             \
      "__wrap_" #name ":\n" GPUKERN_TORTURE_JUMP(#name) ".popsection\n");

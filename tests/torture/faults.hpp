// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Lets the n-th fallible call of the library fail, and counts what it holds.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpukern_torture {

/// What the caller of the library is told if such a call fails.
enum class Kind {
  Memory,     ///< GPUKERN_MEMORY_ERROR, unless the library can do without the memory
  Gpu,        ///< GPUKERN_CUDA_ERROR
  Wait,       ///< GPUKERN_CUDA_ERROR; reports a failure after it has waited
  Query,      ///< GPUKERN_CUDA_ERROR, unless the library can do without the answer
  Absent,     ///< GPUKERN_DEVICE_ERROR or GPUKERN_CUDA_ERROR, unless the library can do without it
  Release,    ///< nothing: there is nothing left to do; reports a failure after it has released
  Tolerated,  ///< nothing: the library does without what it asked for
};

/// A function that the library calls.
struct Site {
  const char* name;
  Kind kind;
};

/// Things that the library acquires and releases.
enum class Resource { Block, GpuMemory, Stream, Event, File, Range, Count };
using Holdings = std::array<std::int64_t, static_cast<std::size_t>(Resource::Count)>;

/// Counts a call; returns true if it must fail.
bool fails(const Site& site);

/// Notes that a resource was acquired (1) or released (-1), outside of an Outside scope.
void hold(Resource resource, int change);
Holdings holdings();

/// Calls of this thread are not the library's while it exists: they do not count.
class Outside {
 public:
  Outside() { ++depth; }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside() { --depth; }
  static bool active() { return depth > 0; }

 private:
  friend class Inside;
  static thread_local constinit int depth;
};

/// Within an Outside scope, calls count again while this exists.
class Inside {
 public:
  Inside() { Outside::depth = 0; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { Outside::depth = before_; }

 private:
  int before_ = Outside::depth;
};

/// What a plan made fail.
struct Failures {
  std::int64_t calls = 0;       ///< that were counted
  const Site* first = nullptr;  ///< the first call that failed
  bool memory = false;          ///< a call of Kind::Memory failed
  bool gpu = false;             ///< a call of Kind::Gpu or Kind::Wait failed
  bool query = false;           ///< a call of Kind::Query or Kind::Absent failed
  bool absent = false;          ///< a call of Kind::Absent failed
};

/// Starts to count calls. The call with this number, from 1, fails, and all later ones if
/// `for_good` is set; 0 for none.
void start(std::int64_t number, bool for_good);
Failures stop();

}  // namespace gpukern_torture

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Helpers for the tests of the cache of compiled programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "program_support.hpp"

namespace gpukern_test {

namespace fs = std::filesystem;

struct Counts {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t rejected = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

inline Counts counts() {
  const gpukern_cache_info info = cache_info();
  return {info.memory_hits, info.disk_hits, info.misses, info.rejected};
}

/// Compiles and returns the PTX.
inline std::string ptx_of(const Description& description) {
  const Compiled program(description);
  EXPECT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  return program.status() == GPUKERN_SUCCESS ? program.ptx() : "";
}

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): a failing test, at worst
inline const Description kProgram{.source = kAdd};

class ProgramCacheTest : public ProgramTest {
 protected:
  /// Creates the only entry of a fresh cache, and drops the program from memory.
  fs::path entry() {
    ptx_of(kProgram);
    forget_memory();
    const auto found = entries();
    EXPECT_EQ(found.size(), 1U);
    return found.at(0);
  }
};

}  // namespace gpukern_test

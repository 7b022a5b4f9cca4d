// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Compiled programs on disk: one file an entry, put in place at once, checked by SHA-256.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/core/file.hpp"
#include "src/program/backend.hpp"
#include "src/program/sha256.hpp"

namespace gpukern {

/// The cache's directory and bound, as the environment has them now.
class DiskCache {
 public:
  /// Without a directory if the one that is named is not this user's alone.
  DiskCache();

  struct Found {
    std::optional<Compiled> program;
    bool rejected = false;  ///< there was an entry, which was no good, and is gone
  };
  /// Marks the entry as used, to the minute.
  [[nodiscard]] Found find(const Digest& key) const;

  /// Writes an entry, into a directory made for it if need be, and makes room for it. What cannot
  /// be written is left: the program was compiled, and will be again.
  void store(const Digest& key, const Compiled& program) const;

  struct Usage {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Usage usage() const;
  void clear() const;

  /// "" if there is no disk cache; need not exist yet.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }

 private:
  std::string directory_;
  std::uint64_t limit_;
  uid_t owner_;  ///< of the directory, and of all entries in it
  File opened_;  ///< the directory, if it exists: what is checked is what is used
};

}  // namespace gpukern

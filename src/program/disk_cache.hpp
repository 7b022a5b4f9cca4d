// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The disk cache of compiled programs: one file per entry, renamed into place, with a SHA-256
// checksum.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/core/file.hpp"
#include "src/program/backend.hpp"
#include "src/program/sha256.hpp"

namespace gpukern {

/// The directory and the size limit that the environment sets at the time of the call.
class DiskCache {
 public:
  /// Has no directory if other users may write to the one that is configured.
  DiskCache();

  struct Found {
    std::optional<Compiled> program;
    bool rejected = false;  ///< there was an invalid entry, which was removed
  };
  /// Looks an entry up and updates its time of last use, to the minute.
  [[nodiscard]] Found find(const Digest& key) const;

  /// Writes an entry, creating the directory if necessary, and removes old ones to stay within the
  /// limit. An entry that cannot be written is ignored: the program will be compiled again.
  void store(const Digest& key, const Compiled& program) const;

  struct Usage {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Usage usage() const;
  void clear() const;

  /// Empty if there is no disk cache. The directory need not exist yet.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }

 private:
  std::string directory_;
  std::uint64_t limit_;
  uid_t owner_;  ///< of the directory and of all entries in it
  File opened_;  ///< the directory, if it exists: checks and accesses refer to the same one
};

}  // namespace gpukern

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Open files and directories.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace gpukern {

/// Closes what it opened. False where it could not be opened; errno says why.
class File {
 public:
  /// By a path; links are followed.
  File(const char* path, int flags) : handle_(open(path, flags | O_CLOEXEC)) {}
  /// By a name in a directory, which must not be a link; one that is made is this user's only.
  File(const File& directory, const char* name, int flags)
      : handle_(openat(directory.handle_, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }

  [[nodiscard]] explicit operator bool() const { return handle_ >= 0; }
  [[nodiscard]] int handle() const { return handle_; }
  /// For somebody else to close.
  [[nodiscard]] int release() { return std::exchange(handle_, -1); }
  bool close() { return handle_ >= 0 && ::close(std::exchange(handle_, -1)) == 0; }

 private:
  int handle_;
};

}  // namespace gpukern

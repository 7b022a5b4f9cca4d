// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Open files and directories.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace gpukern {

/// An open file, closed by the destructor. Converts to false if it could not be opened; errno has
/// the reason.
class File {
 public:
  /// Opens a path; symbolic links are followed.
  File(const char* path, int flags) : handle_(open(path, flags | O_CLOEXEC)) {}
  /// Opens a name in a directory; it must not be a symbolic link. A new file is accessible to this
  /// user only.
  File(const File& directory, const char* name, int flags)
      : handle_(openat(directory.handle_, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }

  [[nodiscard]] explicit operator bool() const { return handle_ >= 0; }
  [[nodiscard]] int handle() const { return handle_; }
  /// Releases the descriptor to the caller, who closes it.
  [[nodiscard]] int release() { return std::exchange(handle_, -1); }
  bool close() { return handle_ >= 0 && ::close(std::exchange(handle_, -1)) == 0; }

 private:
  int handle_;
};

struct CloseListing {
  void operator()(DIR* listing) const { closedir(listing); }
};

/// The names in a directory, by readdir(). std::filesystem::directory_iterator ends the process if
/// memory runs out.
using Listing = std::unique_ptr<DIR, CloseListing>;

}  // namespace gpukern

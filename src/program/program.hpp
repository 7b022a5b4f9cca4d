// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A compiled program with its modules, and the cache of programs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "src/program/backend.hpp"

namespace gpukern {

/// Shared by the cache and the caller's handles to the program and its kernels.
class Program {
 public:
  explicit Program(Compiled compiled) : compiled_(std::move(compiled)) {}

  [[nodiscard]] const Compiled& compiled() const { return compiled_; }

  /// Finds a kernel by its extern "C" name, a name expression or a lowered name. Loads the module
  /// at the first call for a device. Throws if there is no such kernel.
  std::unique_ptr<Kernel> kernel(const std::string& name, int device);

 private:
  Compiled compiled_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Module>> modules_;
};

/// Returns the cached program of a request, or compiles it. Returns nullptr if the request has no
/// source and the cache no entry.
std::shared_ptr<Program> find_or_compile(const ProgramRequest& request);

}  // namespace gpukern

/// The caller's handle.
struct gpukern_program {
  std::shared_ptr<gpukern::Program> program;
};

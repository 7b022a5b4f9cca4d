// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A compiled program and its modules; the cache that finds it again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "src/program/backend.hpp"

namespace gpukern {

/// Shared by the cache, the caller's handles and kernels.
class Program {
 public:
  explicit Program(Compiled compiled) : compiled_(std::move(compiled)) {}

  [[nodiscard]] const Compiled& compiled() const { return compiled_; }

  /// By an extern "C" name, a name expression or a mangled name. Loads the module on the device if
  /// no kernel was asked for there before. Throws if there is no such kernel.
  std::unique_ptr<Kernel> kernel(const std::string& name, int device);

 private:
  Compiled compiled_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Module>> modules_;
};

/// Compiles a request, or finds what it was compiled to; nullptr for a request that only finds, if
/// nothing is kept.
std::shared_ptr<Program> find_or_compile(const ProgramRequest& request);

}  // namespace gpukern

/// A caller's handle.
struct gpukern_program {
  std::shared_ptr<gpukern::Program> program;
};

// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What programs need of CUDA: a compiler, modules on devices, launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpukern/program.h"
#include "src/core/error.hpp"
#include "src/runtime/backend.hpp"

namespace gpukern {

/// A gpukern_program_desc that was checked; borrows the caller's memory.
struct ProgramRequest {
  const char* source = nullptr;
  const char* name = nullptr;
  std::string architecture;  ///< "sm_90"
  /// The architecture is a device's: an older compiler may compile for what it knows.
  bool of_device = false;
  std::span<const char* const> options;
  std::span<const gpukern_header> headers;
  std::span<const char* const> name_expressions;
  const char* key = nullptr;  ///< stands for all but the architecture; without a source, finds only
  const char* note = "";
};

/// What the compiler made of a request.
struct Compiled {
  std::string architecture;
  std::string ptx;
  std::string cubin;
  std::string log;
  std::string note;  ///< the request's
  /// Name expressions and the kernels' names in the code.
  std::vector<std::pair<std::string, std::string>> names;
};

/// The source does not compile; carries the whole log.
class CompileError : public Error {
 public:
  CompileError(const std::string& message, std::string log)
      : Error(GPUKERN_COMPILE_ERROR, message), log_(std::move(log)) {}
  [[nodiscard]] const std::string& log() const noexcept { return log_; }

 private:
  std::string log_;
};

struct KernelParameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

struct KernelFacts {
  std::vector<KernelParameter> parameters;
  int device = 0;
  int max_threads_per_block = 0;
  std::uint64_t static_shared_bytes = 0;
  std::uint64_t max_dynamic_shared_bytes = 0;
  int compute_capability = 0;  ///< that the code was compiled for; 90 is 9.0
};

/// What no launch needs, and takes a while to ask for.
struct KernelProperties {
  int registers = 0;
  int preferred_block = 0;
  std::uint64_t local_bytes = 0;
};

/// A kernel on a device, of a module that outlives it.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  /// Takes a launch that was checked against facts().
  virtual void launch(const gpukern_launch& launch, const void* const* arguments,
                      Stream stream) const = 0;
  [[nodiscard]] const KernelFacts& facts() const { return facts_; }
  [[nodiscard]] virtual KernelProperties properties() const = 0;

 protected:
  KernelFacts facts_;
};

/// A program's code on a device.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;
  /// By the name in the code; nullptr if there is none of that name.
  virtual std::unique_ptr<Kernel> kernel(const std::string& name) = 0;
};

/// The compiler that was found, or why there is none.
struct CompilerInfo {
  int version = 0;
  std::string path;
  std::string reason;
};

class ProgramBackend {
 public:
  ProgramBackend() = default;
  ProgramBackend(const ProgramBackend&) = delete;
  ProgramBackend& operator=(const ProgramBackend&) = delete;
  virtual ~ProgramBackend() = default;

  /// Throws CompileError for a source that does not compile.
  virtual Compiled compile(const ProgramRequest& request) = 0;
  /// Tells the compiler and its headers from others, without opening it where that can be done.
  virtual std::string compiler_identity() = 0;
  virtual CompilerInfo compiler() = 0;
  virtual void search(const char* directory) = 0;
  /// 90 for 9.0; of a device that exists.
  virtual int compute_capability(int device) = 0;
  virtual std::unique_ptr<Module> load(const Compiled& compiled, int device) = 0;
};

/// Whether the library was built with CUDA.
bool has_programs();

/// Throws GPUKERN_DEVICE_ERROR in a build without CUDA.
ProgramBackend& program_backend();

}  // namespace gpukern

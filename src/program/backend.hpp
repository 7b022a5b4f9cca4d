// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What programs need from CUDA: a compiler, modules on devices, kernel launches.
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
#include "src/runtime/device.hpp"

namespace gpukern {

/// A validated gpukern_program_desc; it refers to the caller's memory.
struct ProgramRequest {
  const char* source = nullptr;
  const char* name = nullptr;
  std::string architecture;  ///< "sm_90"
  /// The architecture is that of a device: a compiler that does not support it may compile PTX for
  /// an older one.
  bool of_device = false;
  std::span<const char* const> options;
  std::span<const gpukern_header> headers;
  std::span<const char* const> name_expressions;
  const char* key = nullptr;  ///< identifies all but the architecture; a lookup if source is null
  const char* note = "";
};

/// The result of a compilation.
struct Compiled {
  std::string architecture;
  std::string ptx;
  std::string cubin;
  std::string log;
  std::string note;  ///< the request's
  /// Name expressions and their lowered names.
  std::vector<std::pair<std::string, std::string>> names;
};

/// The source does not compile; holds the complete log.
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
  int compute_capability = 0;  ///< of the compiled code; 90 is 9.0
};

/// Properties that no launch needs and that take time to query.
struct KernelProperties {
  int registers = 0;
  int preferred_block = 0;
  std::uint64_t local_bytes = 0;
};

/// A kernel on a device. Its module must outlive it.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  /// Enqueues a launch that was validated against facts().
  virtual void launch(const gpukern_launch& launch, const void* const* arguments,
                      Stream stream) const = 0;
  [[nodiscard]] const KernelFacts& facts() const { return facts_; }
  [[nodiscard]] virtual KernelProperties properties() const = 0;

 protected:
  KernelFacts facts_;
};

/// The loaded code of a program on a device.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;
  /// Finds a kernel by its lowered name; nullptr if there is no such kernel.
  virtual std::unique_ptr<Kernel> kernel(const std::string& name) = 0;
};

/// The compiler that was found, or the reason why none was.
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
  /// Identifies the compiler and its headers, if possible without opening the library.
  virtual std::string compiler_identity() = 0;
  virtual CompilerInfo compiler() = 0;
  virtual void search(const char* directory) = 0;
  /// 90 for 9.0. The device must exist.
  virtual int compute_capability(int device) = 0;
  virtual std::unique_ptr<Module> load(const Compiled& compiled, int device) = 0;
};

/// Whether the library was built with CUDA.
bool has_programs();

/// Throws GPUKERN_DEVICE_ERROR in a build without CUDA.
ProgramBackend& program_backend();

}  // namespace gpukern

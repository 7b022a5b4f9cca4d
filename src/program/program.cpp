// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/program/program.hpp"

#include <algorithm>
#include <string_view>

#include "src/program/request.hpp"

namespace gpukern {
namespace {

thread_local std::string compile_log;

/// The names of the program's kernels in its PTX, for a message.
std::string kernels_of(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry ";
  constexpr std::size_t kNamed = 8;
  std::string names;
  std::size_t count = 0;
  for (std::size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at)) {
    at += kEntry.size();
    if (++count > kNamed) return names + ", ...";
    names += names.empty() ? "" : ", ";
    names += ptx.substr(at, ptx.find_first_of("( \t\n", at) - at);
  }
  return names.empty() ? "none" : names;
}

std::string lowered_name(const Compiled& compiled, const std::string& name) {
  for (const auto& [expression, in_code] : compiled.names)
    if (expression == name) return in_code;
  return name;
}

struct Part {
  gpukern_program_part part;
  const std::string Compiled::* text;
};
constexpr Part kParts[] = {{GPUKERN_PROGRAM_PTX, &Compiled::ptx},
                           {GPUKERN_PROGRAM_CUBIN, &Compiled::cubin},
                           {GPUKERN_PROGRAM_LOG, &Compiled::log},
                           {GPUKERN_PROGRAM_ARCHITECTURE, &Compiled::architecture},
                           {GPUKERN_PROGRAM_NOTE, &Compiled::note}};

void compile(const gpukern_program_desc* desc, gpukern_program** program) {
  require(program != nullptr, GPUKERN_VALUE_ERROR, "program_compile: program must not be NULL");
  *program = nullptr;
  program_backend();
  try {
    std::shared_ptr<Program> found = find_or_compile(checked_request(desc));
    if (found != nullptr) *program = new gpukern_program{std::move(found)};
  } catch (const CompileError& error) {
    compile_log = error.log();
    throw;
  }
}

void get(const gpukern_program* program, gpukern_program_part part, const void** data,
         std::size_t* size) {
  require(program != nullptr && data != nullptr && size != nullptr, GPUKERN_VALUE_ERROR,
          "program_get: program, data and size must not be NULL");
  const auto* found = std::ranges::find(kParts, part, &Part::part);
  require(found != std::end(kParts), GPUKERN_VALUE_ERROR,
          "program_get: part must be a gpukern_program_part, got ", static_cast<int>(part));
  const std::string& text = program->program->compiled().*(found->text);
  *data = text.c_str();
  *size = text.size();
}

}  // namespace

std::unique_ptr<Kernel> Program::kernel(const std::string& name, int device) {
  // Throws in the child of a fork(), where the mutex may never be released.
  static_cast<void>(device_for({.cuda = true, .id = device}));
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Module>& module = modules_[device];
  if (module == nullptr) module = program_backend().load(compiled_, device);
  std::unique_ptr<Kernel> kernel = module->kernel(lowered_name(compiled_, name));
  require(kernel != nullptr, GPUKERN_VALUE_ERROR, "program_kernel: there is no kernel ", name,
          "; declare it extern \"C\" __global__, or pass a name expression for it; the "
          "program's kernels: ",
          kernels_of(compiled_.ptx));
  return kernel;
}

}  // namespace gpukern

using gpukern::guard;
using gpukern::program_backend;
using gpukern::require;

extern "C" gpukern_status gpukern_program_compile(const gpukern_program_desc* desc,
                                                  gpukern_program** program) {
  return guard([&] { gpukern::compile(desc, program); });
}

extern "C" gpukern_status gpukern_program_release(gpukern_program* program) {
  return guard([&] { delete program; });
}

extern "C" gpukern_status gpukern_program_get(gpukern_program* program, gpukern_program_part part,
                                              const void** data, size_t* size) {
  return guard([&] { gpukern::get(program, part, data, size); });
}

extern "C" gpukern_status gpukern_program_lowered_name(gpukern_program* program, const char* name,
                                                       const char** lowered_name) {
  return guard([&] {
    require(program != nullptr && name != nullptr && lowered_name != nullptr, GPUKERN_VALUE_ERROR,
            "program_lowered_name: program, name and lowered_name must not be NULL");
    const auto& names = program->program->compiled().names;
    const auto found = std::ranges::find(names, name, [](const auto& pair) { return pair.first; });
    require(found != names.end(), GPUKERN_VALUE_ERROR,
            "program_lowered_name: there is no name expression ", name);
    *lowered_name = found->second.c_str();
  });
}

extern "C" gpukern_status gpukern_compile_log(const char** log) {
  return guard([&] {
    require(log != nullptr, GPUKERN_VALUE_ERROR, "compile_log: log must not be NULL");
    *log = gpukern::compile_log.c_str();
  });
}

extern "C" gpukern_status gpukern_nvrtc_search(const char* directory) {
  return guard([&] {
    require(directory != nullptr && *directory != '\0', GPUKERN_VALUE_ERROR,
            "nvrtc_search: directory must not be NULL or empty");
    if (gpukern::has_programs()) program_backend().search(directory);
  });
}

extern "C" gpukern_status gpukern_nvrtc_query(int32_t* version, const char** path,
                                              const char** reason) {
  return guard([&] {
    thread_local gpukern::CompilerInfo info;
    info = {};
    if (gpukern::has_programs())
      info = program_backend().compiler();
    else
      info.reason = gpukern::cuda_status().reason;
    if (version != nullptr) *version = info.version;
    if (path != nullptr) *path = info.path.c_str();
    if (reason != nullptr) *reason = info.reason.c_str();
  });
}

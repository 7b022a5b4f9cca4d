// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Programs, and their cache in memory and on disk.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "case.hpp"
#include "gpukern/program.h"

namespace gpukern_torture {
namespace {

constexpr char kAdd[] =
    "extern \"C\" __global__ void add() {}\n"
    "template <class T> __global__ void other(T*) {}\n";

/// A cache of the test's own in a directory that does not exist yet.
void use_own_cache() {
  const std::string directory = directory_of(getpid());
  static_cast<void>(mkdir(directory.c_str(), 0700));
  setenv("GPUKERN_CACHE_DIR", (directory + "/a/b").c_str(), 1);
  if (gpukern_reload_environment() != GPUKERN_SUCCESS) std::abort();
}

gpukern_status compile(const char* source, gpukern_program** program) {
  constexpr gpukern_header kHeader{"header.h", "#define X 1"};
  constexpr const char* kOption = "-DY=2";
  gpukern_program_desc desc = GPUKERN_PROGRAM_DESC_INIT;
  desc.source = source;
  desc.architecture = "sm_90";
  desc.options = &kOption;
  desc.option_count = 1;
  desc.headers = &kHeader;
  desc.header_count = 1;
  return gpukern_program_compile(&desc, program);
}

gpukern_status run(gpukern_program* program) {
  gpukern_kernel* kernel = nullptr;
  gpukern_kernel_info info{};
  info.struct_size = sizeof info;
  const gpukern_launch launch = GPUKERN_LAUNCH_INIT;
  const gpukern_status status =
      in_order([&] { return gpukern_program_kernel(program, "add", 0, &kernel); },
               [&] { return gpukern_kernel_query(kernel, &info); },
               [&] { return gpukern_kernel_launch(kernel, &launch, nullptr, nullptr, 0, nullptr); },
               [] { return gpukern_synchronize(kGpu, nullptr); });
  gpukern_kernel_release(kernel);
  return status;
}

/// Compiles a program, or finds it in memory, and launches it.
void program(Case& given) {
  use_own_cache();
  given.call = [] {
    gpukern_program* program = nullptr;
    const gpukern_status status =
        in_order([&] { return compile(kAdd, &program); }, [&] { return run(program); });
    gpukern_program_release(program);
    return status;
  };
}

void program_error(Case& given) {
  use_own_cache();
  given.call = [] {
    gpukern_program* program = nullptr;
    const gpukern_status status = compile("does not compile", &program);
    gpukern_program_release(program);
    return status;
  };
}

/// Compiles a program that is neither in memory nor on disk, and stores it.
void cache_store(Case& given) {
  use_own_cache();
  given.call = [] {
    gpukern_program* program = nullptr;
    const gpukern_status status =
        in_order([] { return gpukern_cache_clear(); }, [&] { return compile(kAdd, &program); });
    gpukern_program_release(program);
    return status;
  };
}

/// Stores entries until the oldest must go.
void cache_limit(Case& given) {
  setenv("GPUKERN_CACHE_LIMIT", "700", 1);
  use_own_cache();
  given.call = [] {
    gpukern_status status = gpukern_cache_clear();
    for (const char* source : {"add 1", "add 2", "add 3", "add 4"}) {
      gpukern_program* program = nullptr;
      if (status == GPUKERN_SUCCESS) status = compile(source, &program);
      gpukern_program_release(program);
    }
    return status;
  };
}

void cache_query(Case& given) {
  use_own_cache();
  gpukern_program* program = nullptr;
  if (compile(kAdd, &program) != GPUKERN_SUCCESS) std::abort();
  gpukern_program_release(program);
  given.call = [] {
    gpukern_cache_info info{};
    info.struct_size = sizeof info;
    return gpukern_cache_query(&info);
  };
}

}  // namespace

std::vector<Named> cache_scenarios() {
  return {{"program", program},
          {"program_error", program_error},
          {"cache_store", cache_store},
          {"cache_limit", cache_limit},
          {"cache_query", cache_query}};
}

}  // namespace gpukern_torture

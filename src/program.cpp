// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gpukern/program.h"

#include "error.hpp"

namespace {
gpukern_status unavailable() {
  return gpukern::guard([] {
    gpukern::fail(GPUKERN_DEVICE_ERROR, "programs need a gpukern that was built with CUDA");
  });
}
}  // namespace

extern "C" gpukern_status gpukern_program_compile(const gpukern_program_desc* /*desc*/,
                                                  gpukern_program** /*program*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_program_release(gpukern_program* /*program*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_program_get(gpukern_program* /*program*/,
                                              gpukern_program_part /*part*/, const void** /*data*/,
                                              size_t* /*size*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_compile_log(const char** /*log*/) { return unavailable(); }
extern "C" gpukern_status gpukern_program_kernel(gpukern_program* /*program*/, const char* /*name*/,
                                                 int32_t /*device*/, gpukern_kernel** /*kernel*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_kernel_release(gpukern_kernel* /*kernel*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_kernel_query(const gpukern_kernel* /*kernel*/,
                                               gpukern_kernel_info* /*info*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_kernel_parameter(const gpukern_kernel* /*kernel*/, int32_t /*i*/,
                                                   size_t* /*offset*/, size_t* /*bytes*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_kernel_launch(const gpukern_kernel* /*kernel*/,
                                                const gpukern_launch* /*launch*/,
                                                const void* const* /*arguments*/,
                                                const size_t* /*argument_bytes*/,
                                                size_t /*argument_count*/,
                                                const gpukern_exec* /*exec*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_cache_query(gpukern_cache_info* /*info*/) {
  return unavailable();
}
extern "C" gpukern_status gpukern_cache_clear(void) { return unavailable(); }
extern "C" gpukern_status gpukern_nvrtc_search(const char* /*directory*/) { return unavailable(); }
extern "C" gpukern_status gpukern_nvrtc_query(int32_t* /*version*/, const char** /*path*/,
                                              const char** /*reason*/) {
  return unavailable();
}

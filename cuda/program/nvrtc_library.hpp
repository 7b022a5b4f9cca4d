// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Finds and loads NVRTC and the CUDA headers at first use. The interface is declared here as
// nvrtc.h documents it, so that the build does not need NVRTC.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpukern::gpu {

enum class NvrtcResult : int { Success = 0, OutOfMemory = 1, InvalidOption = 5, Compilation = 6 };

using NvrtcProgram = void*;

/// Functions of NVRTC, named without their prefix "nvrtc".
struct NvrtcFunctions {
  NvrtcResult (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(NvrtcResult result) = nullptr;
  NvrtcResult (*num_supported_archs)(int* count) = nullptr;
  NvrtcResult (*supported_archs)(int* archs) = nullptr;
  NvrtcResult (*create)(NvrtcProgram* program, const char* source, const char* name, int headers,
                        const char* const* sources, const char* const* names) = nullptr;
  NvrtcResult (*destroy)(NvrtcProgram* program) = nullptr;
  NvrtcResult (*compile)(NvrtcProgram program, int count, const char* const* options) = nullptr;
  NvrtcResult (*ptx_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*ptx)(NvrtcProgram program, char* text) = nullptr;
  NvrtcResult (*cubin_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*cubin)(NvrtcProgram program, char* code) = nullptr;
  NvrtcResult (*log_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*log)(NvrtcProgram program, char* text) = nullptr;
  NvrtcResult (*add_name)(NvrtcProgram program, const char* expression) = nullptr;
  NvrtcResult (*lowered_name)(NvrtcProgram program, const char* expression,
                              const char** name) = nullptr;
};

/// The loaded library.
struct Nvrtc {
  NvrtcFunctions call;
  int major = 0;
  int minor = 0;
  std::vector<int> architectures;  ///< 75, 80, ..., in ascending order
};

/// The paths of the library and of the headers.
struct NvrtcInstallation {
  std::string library;
  std::string builtins;  ///< loaded before the library; empty if not in its folder
  std::vector<std::string> include;
  std::string searched_include;  ///< the folders searched, for a message if include is empty
  std::string identity;          ///< of the library's build and of the headers
};

/// Marks the calling thread as in NVRTC, which uses locks, for the lifetime of the object. Throws
/// GPUKERN_DEVICE_ERROR in the child of a fork() that happened while another thread was in NVRTC:
/// its locks are never released there.
class NvrtcScope {
 public:
  NvrtcScope();
  NvrtcScope(const NvrtcScope&) = delete;
  NvrtcScope& operator=(const NvrtcScope&) = delete;
  ~NvrtcScope();
};

/// Both results are cached; both functions throw GPUKERN_DEVICE_ERROR if there is no NVRTC.
const NvrtcInstallation& nvrtc_installation();
const Nvrtc& nvrtc();

/// Adds the root of a CUDA toolkit to the search path.
void search_for_nvrtc(const char* root);

}  // namespace gpukern::gpu
